/** `svc agents provider …`: the identity provider of the organization, its clients, rules, links and refusals. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  REFUSALS,
  type IdentityLinking,
  type RefusalReason,
} from '../../contracts/identity-provider-states.ts'
import { IDENTITY_PROVIDER } from '../../contracts/limits.ts'
import type { Input, Output } from '../../contracts/operations.ts'
import type { Resource, Scope } from '../../contracts/scopes.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { tableOf } from '../format-output.ts'
import { argument, countOption, isSet, listOption, textOption } from '../options.ts'
import { confirm, readStdin } from '../prompt.ts'
import { readPages } from '../read-pages.ts'
import { usageError } from '../usage-error.ts'

type Provider = NonNullable<Output<'showIdentityProvider'>['identity_provider']>
type Rule = Output<'listIdentityProviderRules'>['rules'][number]

export const showIdentityProvider: Run = async (ctx) => {
  const shown = await ctx.callOperation('showIdentityProvider', {})
  const { audience, resources, identity_provider: provider } = shown
  const entered = { audience, ...Object.fromEntries(resources.map(({ resource, url }) => [resource, url])) }
  ctx.print(shown, { fields: { ...(provider ? fieldsOf(provider) : { state: 'none' }), ...entered } })
  if (!shown.is_enabled) ctx.info('The operator turned identity providers off for this installation.')
}

export const createIdentityProvider: Run = async (ctx, input) => {
  const issuer = argument(input, 'issuer')
  const created = await ctx.callOperation('createIdentityProvider', {
    issuer,
    name: textOption(input, 'name') ?? URL.parse(issuer)?.host ?? issuer,
    tenant_claim: textOption(input, 'tenant-claim') as Input<'createIdentityProvider'>['tenant_claim'],
    tenant_value: textOption(input, 'tenant-value'),
  })
  ctx.print(created, { fields: fieldsOf(created) })
  ctx.info('It is a draft. An owner turns it on with `svc agents provider activate`.')
}

export const probeIdentityProvider: Run = async (ctx, input) => {
  const file = textOption(input, 'assertion')
  const assertion = file === undefined ? undefined : await readText(ctx, file, 'the assertion')
  const probed = await ctx.callOperation('probeIdentityProvider', { assertion })
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

export const activateIdentityProvider: Run = async (ctx, input) => {
  const assertion = await readText(ctx, argument(input, 'assertion'), 'the assertion')
  const on = await ctx.callOperation('activateIdentityProvider', { assertion })
  ctx.print(on, { fields: fieldsOf(on) })
}

export const updateIdentityProvider: Run = async (ctx, input) => {
  const scopes = listOption(input, 'default-scope') as Scope[]
  const [required, optional] = [isSet(input, 'required'), isSet(input, 'not-required')]
  if (required && optional) throw usageError('--required conflicts with --not-required', 'Remove one of them')
  const none = isSet(input, 'no-default-scopes')
  const changes = {
    name: textOption(input, 'name'),
    linking: textOption(input, 'linking') as IdentityLinking | undefined,
    token_minutes: countOption(input, 'token-minutes', IDENTITY_PROVIDER.tokenMinutes.max),
    assertion_seconds: countOption(input, 'assertion-seconds', IDENTITY_PROVIDER.assertionSeconds.max),
    default_scopes: scopes.length > 0 || none ? scopes : undefined,
    is_required: required || optional ? required : undefined,
  }
  if (Object.values(changes).every((value) => value === undefined))
    throw usageError('Nothing to change', 'Add an option, such as --linking member')
  const updated = await ctx.callOperation('updateIdentityProvider', changes)
  ctx.print(updated, { fields: fieldsOf(updated) })
}

export const pauseIdentityProvider: Run = async (ctx, input) => {
  await confirm(ctx, input, 'This disconnects every agent of the identity provider until it is resumed.')
  await switchProvider(ctx, 'paused')
}

export const resumeIdentityProvider: Run = (ctx) => switchProvider(ctx, 'on')

async function switchProvider(ctx: CommandContext, state: 'on' | 'paused'): Promise<void> {
  const updated = await ctx.callOperation('updateIdentityProvider', { state })
  ctx.print(updated, { fields: fieldsOf(updated) })
}

export const deleteIdentityProvider: Run = async (ctx, input) => {
  await confirm(
    ctx,
    input,
    'This removes the identity provider with its clients, rules and links, and disconnects its agents.',
  )
  await ctx.callOperation('deleteIdentityProvider', {})
  ctx.info('Removed the identity provider')
}

export const endEnterpriseGrants: Run = async (ctx, input) => {
  await confirm(ctx, input, 'This disconnects every agent of the identity provider. They can connect again.')
  const { ended } = await ctx.callOperation('endEnterpriseGrants', {})
  ctx.info(`Disconnected ${ended === 1 ? '1 agent' : `${ended} agents`}`)
}

export const listIdentityProviderClients: Run = async (ctx, input) => {
  const found = await readPages(ctx, input, 'listIdentityProviderClients', 'clients', {})
  ctx.print(found, clientTable(found.clients))
}

function termsOf(input: CommandInput): { max_scopes: Scope[]; resources: Resource[] } {
  const max_scopes = listOption(input, 'scope') as Scope[]
  const resources = listOption(input, 'endpoint') as Resource[]
  if (max_scopes.length === 0)
    throw usageError('Nothing that it may have', 'Add --scope, such as --scope data:read')
  return { max_scopes, resources: resources.length > 0 ? resources : ['platform'] }
}

export const createIdentityProviderClient: Run = async (ctx, input) => {
  const name = argument(input, 'name')
  const created = await ctx.callOperation('createIdentityProviderClient', { name, ...termsOf(input) })
  const { client_id, secret, token_endpoint, resource_urls } = created
  ctx.print(created, { fields: { client_id, secret, token_endpoint, resource: resource_urls.join(' ') } })
  ctx.info('Store the secret now: it is not shown again.')
}

export const allowIdentityProviderClient: Run = async (ctx, input) => {
  const allowed = await ctx.callOperation('allowIdentityProviderClient', {
    client_id: argument(input, 'client_id'),
    ...termsOf(input),
    may_be_public: isSet(input, 'public'),
  })
  ctx.print(allowed, clientTable([allowed]))
  if (allowed.is_public && !allowed.may_be_public)
    ctx.info('It cannot prove who it is, so it is refused until you allow it with --public.')
}

export const forbidIdentityProviderClient: Run = async (ctx, input) => {
  const client_id = argument(input, 'client_id')
  await confirm(ctx, input, `This forbids ${client_id} and disconnects its agents.`)
  await ctx.callOperation('forbidIdentityProviderClient', { client_id })
  ctx.info(`Forbade ${client_id}`)
}

export const listIdentityProviderRules: Run = async (ctx, input) => {
  const found = await readPages(ctx, input, 'listIdentityProviderRules', 'rules', {})
  ctx.print(found, ruleTable(found.rules))
}

export const setIdentityProviderRules: Run = async (ctx, input) => {
  const rules = readRules(await readText(ctx, argument(input, 'file'), 'the rules'))
  await confirm(
    ctx,
    input,
    'This replaces all rules. Agents are disconnected, and connect again by themselves.',
  )
  const saved = await ctx.callOperation('setIdentityProviderRules', { rules })
  ctx.print(saved, ruleTable(saved.rules))
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
  const scopes = listOption(input, 'scope') as Scope[]
  const previewed = await ctx.callOperation('previewIdentityProviderRules', {
    user_id: argument(input, 'user_id'),
    client_id: argument(input, 'client_id'),
    resource: textOption(input, 'endpoint') as Resource | undefined,
    claims: claimsOf(input),
    ...(scopes.length > 0 && { scopes }),
  })
  const { refusal, position, role } = previewed
  const fields = {
    result: refusal === null ? 'connected' : `refused: ${REFUSALS[refusal]} (${refusal})`,
    rule: position ?? (isLookedUp(refusal) ? 'none; the default scopes apply' : 'none'),
    role,
    scopes: previewed.scopes.join(' ') || 'none',
    sources: refusal === null ? sourcesOf(previewed) : 'none',
  }
  ctx.print(previewed, { fields })
}

/** A client that may not come in at all is refused before the rules are read. */
const isLookedUp = (refusal: RefusalReason | null): boolean =>
  refusal !== 'client_not_allowed' && refusal !== 'resource'

/** `--claim groups=eng --claim groups=leads` is one claim with two values. */
function claimsOf(input: CommandInput): Record<string, string[]> {
  const claims: Record<string, string[]> = {}
  for (const text of listOption(input, 'claim')) {
    const [name, ...value] = text.split('=')
    if (!name || value.length === 0)
      throw usageError(`Invalid claim: ${text}`, 'Write it as groups=engineering')
    claims[name] = [...(claims[name] ?? []), value.join('=')]
  }
  return claims
}

export const listIdentityLinks: Run = async (ctx, input) => {
  const search = textOption(input, 'search')
  const found = await readPages(ctx, input, 'listIdentityLinks', 'links', { search })
  ctx.print(found, linkTable(found.links))
}

export const linkIdentity: Run = async (ctx, input) => {
  const linked = await ctx.callOperation('linkIdentity', {
    subject: argument(input, 'subject'),
    user_id: argument(input, 'user_id'),
  })
  ctx.print(linked, linkTable([linked]))
}

export const unlinkIdentity: Run = async (ctx, input) => {
  const link_id = argument(input, 'link_id')
  await confirm(ctx, input, `This removes ${link_id} and disconnects the agents of its person.`)
  await ctx.callOperation('unlinkIdentity', { link_id })
  ctx.info(`Removed ${link_id}`)
}

export const listRefusals: Run = async (ctx, input) => {
  const found = await readPages(ctx, input, 'listRefusals', 'refusals', {
    reason: textOption(input, 'reason') as RefusalReason | undefined,
    client_id: textOption(input, 'client'),
  })
  const view = tableOf(found.refusals, {
    TIME: 'at',
    REASON: 'reason',
    WHY: ({ reason }) => REFUSALS[reason],
    CLIENT: 'client_id',
    SUBJECT: 'subject',
    KEY: 'key_id',
  })
  ctx.print(found, view)
}

const readText = async (ctx: CommandContext, file: string, what: string): Promise<string> =>
  file === '-' ? readStdin(ctx, what) : readFile(ctx, file)

function readFile({ environment }: CommandContext, file: string): string {
  try {
    return readFileSync(resolve(environment.cwd, file), 'utf8')
  } catch {
    throw usageError(`Cannot read ${file}`, 'Name a file that you may read, or - for stdin')
  }
}

const fieldsOf = (provider: Provider) => ({
  id: provider.id,
  name: provider.name,
  state: provider.state,
  issuer: provider.issuer,
  ...(provider.tenant && { tenant: `${provider.tenant.claim}=${provider.tenant.value}` }),
  linking: provider.linking,
  default_scopes: provider.default_scopes.join(' ') || 'none',
  token_minutes: provider.token_minutes,
  assertion_seconds: provider.assertion_seconds,
  required: provider.is_required ? 'yes' : 'no',
  agents: provider.live_grants,
  last_used_at: provider.last_used_at,
})

const sourcesOf = ({ sources }: Pick<Rule, 'sources'>): string =>
  sources === null ? 'all' : sources.map(({ source_id }) => source_id).join(' ') || 'none'

const clientTable = (clients: Output<'listIdentityProviderClients'>['clients']) =>
  tableOf(clients, {
    CLIENT: 'client_id',
    KIND: 'kind',
    NAME: 'name',
    SCOPES: ({ max_scopes }) => max_scopes.join(' '),
    ENDPOINTS: ({ resources }) => resources.join(' '),
    PUBLIC: 'may_be_public',
    GRANTS: 'live_grants',
    'LAST USED': 'last_used_at',
  })

const ruleTable = (rules: readonly Rule[]) =>
  tableOf(rules, {
    RULE: 'position',
    CLAIM: ({ claim }) => claim ?? 'everybody',
    VALUE: 'value',
    SCOPES: ({ scopes }) => scopes.join(' ') || 'refused',
    SOURCES: sourcesOf,
  })

const linkTable = (links: Output<'listIdentityLinks'>['links']) =>
  tableOf(links, {
    LINK: 'id',
    SUBJECT: 'subject',
    USER: ({ user }) => user.email,
    BY: 'linked_by',
    'LAST USED': 'last_used_at',
  })
