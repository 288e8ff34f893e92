/** The tool `maintenance_run`: starts a run; a task where the client knows tasks. */
import * as z from 'zod'
import { appAlias } from '../../src/contracts/apps.ts'
import { startMaintenanceRun } from '../../src/contracts/maintenance.ts'
import { ProtocolAnswer } from '../protocol-answer.ts'
import { hidePattern, tool } from '../tool.ts'
import { showRun, taskOf } from './maintenance-runs.ts'

const { idempotency_key } = startMaintenanceRun.input.shape

export const maintenanceRun = tool({
  name: 'maintenance_run',
  resource: 'platform',
  title: 'Run maintenance now',
  description:
    'Start a run. It spends shared tokens and never deploys. Poll maintenance_status with its run_id.',
  operations: [startMaintenanceRun],
  input: z.strictObject({
    app: hidePattern(appAlias.alias),
    idempotency_key: hidePattern(idempotency_key.unwrap()).describe(
      'Any unique text; repeat it when you retry.',
    ),
  }),
  isUntrusted: true,
  notFoundText: 'No such app. Call app_list.',
  async run({ app, idempotency_key }, { call, client, principal }) {
    const run = await call(startMaintenanceRun, { alias: app, mode: 'manual', idempotency_key })
    // Without the right to read runs nobody could ask after the task.
    if (client.hasTasks && principal.scopes.includes('maintenance:read') && run.status !== 'ended') {
      // Counted as used here, once: asking after the task leaves no activity.
      return new ProtocolAnswer({ resultType: 'task', ...taskOf(run) }, ['maintenance:read'])
    }
    return { ...showRun(run), replayed: run.replayed }
  },
})
