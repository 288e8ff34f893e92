/** `svc apps maintenance settings`: shows those of the organization, and changes what is given. */
import type { Input, Output } from '../../contracts/operations.ts'
import type { ProtectedClass } from '../../contracts/protected-classes.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { countFrom, enabledOf, isSet, listOption, textOption } from '../options.ts'
import { confirm } from '../prompt.ts'
import { usageError } from '../usage-error.ts'

export const updateMaintenanceSettings: Run = async (ctx, input) => {
  const { organization } = await ctx.callOperation('whoAmI', {})
  if (!organization) throw usageError('You are not a member of an organization', 'Ask an owner to invite you')
  const org_id = organization.id
  const change = changeOf(input)
  if (Object.keys(change).length === 0) {
    return print(ctx, await ctx.callOperation('showMaintenanceSettings', { org_id }))
  }
  if (change.enabled === false) {
    await confirm(ctx, input, 'This turns the maintenance agent off for every app, and stops what runs.')
  }
  print(ctx, await ctx.callOperation('updateMaintenanceSettings', { org_id, ...change }))
}

function changeOf(input: CommandInput): Omit<Input<'updateMaintenanceSettings'>, 'org_id'> {
  const given = {
    model: textOption(input, 'model'),
    nightly_cron: textOption(input, 'cron'),
    timezone: textOption(input, 'timezone'),
    cooldown_hours: numberOf(input, 'cooldown'),
    token_allowance: numberOf(input, 'tokens'),
    protected_paths: listOf(input, 'protect', 'no-protect'),
    allowed_classes: listOf(input, 'allow', 'no-allow') as ProtectedClass[] | undefined,
  }
  return {
    ...enabledOf(input),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  }
}

const numberOf = (input: CommandInput, long: string): number | undefined => {
  const text = textOption(input, long)
  return text === undefined ? undefined : countFrom(`--${long}`, text, Number.MAX_SAFE_INTEGER, 0)
}

/** All of them at once; the other one for none. */
function listOf(input: CommandInput, long: string, none: string): string[] | undefined {
  const given = listOption(input, long)
  if (given.length > 0 && isSet(input, none)) {
    throw usageError(`--${long} conflicts with --${none}`, 'Remove one of them')
  }
  return given.length > 0 ? [...given] : isSet(input, none) ? [] : undefined
}

function print(ctx: CommandContext, settings: Output<'showMaintenanceSettings'>): void {
  const list = (values: readonly string[]) => (values.length === 0 ? 'none' : values.join(', '))
  ctx.print(settings, {
    fields: {
      enabled: settings.enabled,
      model: settings.model ?? 'none',
      'models to choose': list(settings.models.map(({ name }) => name)),
      cadence: `${settings.nightly_cron} (${settings.timezone})`,
      'next run': settings.next_run_at,
      'cool-down': `${settings.cooldown_hours} h`,
      'tokens a day': settings.token_allowance,
      'protected paths': list(settings.protected_paths),
      'open to proposals': list(settings.allowed_classes),
      'decisions of agents': settings.mcp_decisions,
      'apps on': settings.apps_enabled,
    },
  })
  if (settings.you_decide_from !== null) {
    ctx.info(
      `You changed something: what runs propose until ${settings.you_decide_from}, another admin approves.`,
    )
  }
}
