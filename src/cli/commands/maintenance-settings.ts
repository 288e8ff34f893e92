/** `svc apps maintenance settings`: shows those of the organization, and changes what is given. */
import type { Run } from '../command.ts'
import { declared } from '../declared.ts'
import { operationInput } from '../operation-input.ts'
import { confirm } from '../prompt.ts'
import { printAnswer } from '../run-operation.ts'

const SETTINGS = declared('apps maintenance settings')

export const updateMaintenanceSettings: Run = async (ctx, input) => {
  const { org_id, ...change } = await operationInput<'updateMaintenanceSettings'>(ctx, input, SETTINGS)
  if (Object.keys(change).length === 0) {
    return printAnswer(ctx, SETTINGS, await ctx.callOperation('showMaintenanceSettings', { org_id }))
  }
  if (change.enabled === false) {
    await confirm(ctx, input, 'This turns the maintenance agent off for every app, and stops what runs.')
  }
  printAnswer(ctx, SETTINGS, await ctx.callOperation('updateMaintenanceSettings', { org_id, ...change }))
}
