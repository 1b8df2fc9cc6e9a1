# kubelet-ts with its own Node. The agent needs the host: its PID, network and mount namespaces, /sys/fs/cgroup, /dev and
# the runtime's socket. Example:
#
#   docker build -t kubelet-ts .
#   docker run --rm kubelet-ts --version
#   docker run --rm -v "$PWD/examples:/examples:ro" kubelet-ts config check /examples/config.yaml
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY proto proto
COPY scripts scripts
COPY src src
RUN npm run build

FROM debian:bookworm-slim
# mount, umount and nsenter come with util-linux, which is there.
COPY --from=build /usr/local/bin/node /opt/kubelet-ts/node
COPY --from=build /src/dist /opt/kubelet-ts/dist
COPY bin/kubelet-ts /opt/kubelet-ts/bin/kubelet-ts
COPY LICENSE /opt/kubelet-ts/LICENSE
# Installed under the name `kubelet`, the process shows under that name.
RUN ln -s /opt/kubelet-ts/bin/kubelet-ts /usr/bin/kubelet && ln -s /opt/kubelet-ts/bin/kubelet-ts /usr/bin/kubelet-ts && kubelet --version
ENTRYPOINT ["/usr/bin/kubelet"]
