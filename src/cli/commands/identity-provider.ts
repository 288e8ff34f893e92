/** `svc agents provider …`, where a command does more than one call or prints more than its answer. */
import { REFUSALS, type RefusalReason } from '../../contracts/identity-provider-states.ts'
import type { Input, Output } from '../../contracts/operations.ts'
import { cellOf, fieldsOf } from '../cells.ts'
import type { Run } from '../command.ts'
import { declared } from '../declared.ts'
import { operationInput, readText } from '../operation-input.ts'
import { argument } from '../options.ts'
import { confirm } from '../prompt.ts'
import { printAnswer } from '../run-operation.ts'
import { usageError } from '../usage-error.ts'

export const showIdentityProvider: Run = async (ctx) => {
  const shown = await ctx.callOperation('showIdentityProvider', {})
  const { audience, resources, identity_provider: provider } = shown
  const entered = { audience, ...Object.fromEntries(resources.map(({ resource, url }) => [resource, url])) }
  const fields = provider
    ? fieldsOf(provider, declared('agents provider update').call.fields!)
    : { state: 'none' }
  ctx.print(shown, { fields: { ...fields, ...entered } })
  if (!shown.is_enabled) ctx.info('The operator turned identity providers off for this installation.')
}

const ADD = declared('agents provider add')

export const createIdentityProvider: Run = async (ctx, input) => {
  const issuer = argument(input, 'issuer')
  const { name = URL.parse(issuer)?.host ?? issuer } = input.options
  const named = { ...input, options: { ...input.options, name } }
  const given = await operationInput<'createIdentityProvider'>(ctx, named, ADD)
  printAnswer(ctx, ADD, await ctx.callOperation('createIdentityProvider', given))
}

export const probeIdentityProvider: Run = async (ctx, input) => {
  const given = await operationInput<'probeIdentityProvider'>(ctx, input, declared('agents provider probe'))
  const probed = await ctx.callOperation('probeIdentityProvider', given)
  const { metadata, keys, keys_problem } = probed
  const fields = {
    metadata: metadata.problem ?? (metadata.is_pinned ? 'ok' : `keys are at ${metadata.jwks_uri} now`),
    keys:
      keys_problem ??
      (keys.map(({ kid, alg, kty }) => `${kid ?? 'no kid'} (${alg ?? kty})`).join(', ') || 'none'),
    ...(probed.assertion && assertionFields(probed.assertion)),
  }
  ctx.print(probed, { fields })
}

function assertionFields(tried: NonNullable<Output<'probeIdentityProvider'>['assertion']>) {
  const passed = tried.checks.filter(({ result }) => result === 'passed').length
  return {
    assertion: tried.refusal === null ? 'accepted' : `refused: ${REFUSALS[tried.refusal]} (${tried.refusal})`,
    checks: `${passed} of ${tried.checks.length} passed`,
    subject: tried.subject,
    client: tried.client_id,
    user: tried.user?.email ?? null,
  }
}

export const setIdentityProviderRules: Run = async (ctx, input) => {
  const rules = readRules(await readText(ctx, argument(input, 'file'), 'the rules'))
  await confirm(
    ctx,
    input,
    'This replaces all rules. Agents are disconnected, and connect again by themselves.',
  )
  const saved = await ctx.callOperation('setIdentityProviderRules', { rules })
  printAnswer(ctx, declared('agents provider set-rules'), saved)
}

/** A list, or what `rules --json` prints; the server checks what is in it. */
function readRules(text: string): Input<'setIdentityProviderRules'>['rules'] {
  try {
    const given = JSON.parse(text) as unknown
    const rules = Array.isArray(given) ? given : (given as { rules?: unknown } | null)?.rules
    if (Array.isArray(rules)) return rules.map(withSourceIds)
  } catch {
    // Falls through to the same error.
  }
  throw usageError('The rules are not a JSON list', 'Start from `svc agents provider rules --json`')
}

/** Rules are printed with whole data sources, and saved with their ids. */
function withSourceIds(rule: Record<string, unknown>): Input<'setIdentityProviderRules'>['rules'][number] {
  const { position: _position, sources, ...rest } = rule
  const ids = Array.isArray(sources)
    ? (sources as (string | { id: string })[]).map((source) =>
        typeof source === 'string' ? source : source.id,
      )
    : sources
  return { ...rest, ...(ids !== undefined && { sources: ids }) } as never
}

export const previewIdentityProviderRules: Run = async (ctx, input) => {
  const given = await operationInput<'previewIdentityProviderRules'>(
    ctx,
    input,
    declared('agents provider preview'),
  )
  const previewed = await ctx.callOperation('previewIdentityProviderRules', given)
  const { refusal, position, role } = previewed
  const fields = {
    result: refusal === null ? 'connected' : `refused: ${REFUSALS[refusal]} (${refusal})`,
    rule: position ?? (isLookedUp(refusal) ? 'none; the default scopes apply' : 'none'),
    role,
    scopes: previewed.scopes.join(' ') || 'none',
    sources: refusal === null ? cellOf('sources:sources', previewed) : 'none',
  }
  ctx.print(previewed, { fields })
}

/** A client that may not come in at all is refused before the rules are read. */
const isLookedUp = (refusal: RefusalReason | null): boolean =>
  refusal !== 'client_not_allowed' && refusal !== 'resource'
