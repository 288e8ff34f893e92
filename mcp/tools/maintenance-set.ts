/** The tool `maintenance_set`: turns maintenance of one app on or off. */
import * as z from 'zod'
import { appAlias } from '../../src/contracts/apps.ts'
import { updateAppMaintenance } from '../../src/contracts/maintenance.ts'
import { hidePattern, tool } from '../tool.ts'

export const maintenanceSet = tool({
  name: 'maintenance_set',
  resource: 'platform',
  title: 'Turn maintenance on or off',
  description: 'Turn nightly maintenance of one app on or off. Off stops a run at once.',
  operations: [updateAppMaintenance],
  input: z.strictObject({ app: hidePattern(appAlias.alias), enabled: z.boolean() }),
  notFoundText: 'No such app. Call app_list.',
  async run({ app, enabled }, { call }) {
    const { settings, next_run_at } = await call(updateAppMaintenance, { alias: app, enabled })
    return { app, enabled: settings.enabled, next_run_at }
  },
})
