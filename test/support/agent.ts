/**
 * A standalone agent on a private containerd, for tests and bench:
 *
 *     await using containerd = await startContainerd();
 *     const agent = await startAgent({ containerd });
 *     await agent.waitHealthy();
 *
 * It ends and its folder goes with the containerd.
 */
export { removePods } from '../../scripts/node/removePods.ts';
export { type Agent, type AgentOptions, agentConfig, startAgent } from '../../scripts/node/startAgent.ts';
