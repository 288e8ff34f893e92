/** What the machine-agents core exports. */
export { madeByMembers, revokeCredentials, type Credential } from './credential-rows.ts'
export { shortenAgain } from './shorten-again.ts'
export { endMachineAgent } from './end-machine-agent.ts'
export { lockManageable as lockManageableAgent } from './machine-agent-rows.ts'
export { readMachineUsersBehind } from './machine-users-behind.ts'
export {
  findStandingGrant,
  listMachineCredentials,
  touchCredentials,
  type MachineCredential,
} from './find-machine-client.ts'
