import type { KubeApi } from '../../kube/api.ts';
import type { TokenReviewer } from './authenticate.ts';
import type { AccessReviewer } from './authorize.ts';

type Api = Pick<KubeApi, 'request'>;

interface TokenReview {
  status?: {
    authenticated?: boolean;
    error?: string;
    user?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
  };
}

/** Token reviews by the API server. */
export function apiTokenReviewer(api: Api): TokenReviewer {
  return {
    async review(token, signal) {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
      const { status } = await api.request<TokenReview>({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        body,
        signal,
      });
      const user = status?.user;
      if (status?.authenticated !== true || user?.username === undefined || user.username === '') return undefined;
      const { username: name, uid, groups = [], extra } = user;
      return { name, groups, ...(uid === undefined ? {} : { uid }), ...(extra === undefined ? {} : { extra }) };
    },
  };
}

/** Access reviews by the API server (contract http-api §3: resource nodes, API version v1). */
export function apiAccessReviewer(api: Api): AccessReviewer {
  return {
    async allowed({ user, verb, nodeName, subresource }, signal) {
      const body = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          resourceAttributes: { verb, version: 'v1', group: '', resource: 'nodes', subresource, name: nodeName, namespace: '' },
          user: user.name,
          groups: user.groups,
          ...(user.uid === undefined ? {} : { uid: user.uid }),
          ...(user.extra === undefined ? {} : { extra: user.extra }),
        },
      };
      const { status } = await api.request<{ status?: { allowed?: boolean; denied?: boolean } }>({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        body,
        signal,
      });
      return status?.allowed === true && status.denied !== true;
    },
  };
}
