import type { Handler } from '../../contracts/operations.ts'
import type { Storage } from '../dependencies.ts'
import { requireMember } from '../principal.ts'
import { presentOne } from './machine-agent-rows.ts'

export const showMachineAgent =
  (deps: Storage): Handler<'showMachineAgent'> =>
  (principal, { machine_agent_id }) =>
    presentOne(deps, requireMember(principal), machine_agent_id)
