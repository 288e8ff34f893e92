/** What the machine-agents core exports. */
export { createMachineAgent } from './create-machine-agent.ts'
export { listMachineAgents } from './list-machine-agents.ts'
export { showMachineAgent } from './show-machine-agent.ts'
export { updateMachineAgent } from './update-machine-agent.ts'
export { addMachineAgentCredential } from './add-machine-agent-credential.ts'
export { revokeMachineAgentCredential } from './revoke-machine-agent-credential.ts'
export { removeMachineAgent } from './remove-machine-agent.ts'
export { revokeCredentials, revokeCredentialsMadeBy } from './credential-rows.ts'
export { readMachineUsersBehind } from './machine-users-behind.ts'
export {
  findStandingGrant,
  listMachineCredentials,
  touchCredentials,
  type MachineCredential,
} from './find-machine-client.ts'
