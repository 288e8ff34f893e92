/** Machine agents > New: its secret is shown once, in the response to the form. */
import { html } from 'hono/html'
import { listAskableDataSources } from '../../../contracts/data-sources.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { EXPOSED_MAX } from '../../../contracts/limits.ts'
import { createMachineAgent } from '../../../contracts/machine-agents.ts'
import { GrantableRole } from '../../../contracts/roles.ts'
import {
  DEFAULT_SCOPES,
  MACHINE_AGENT_SCOPES,
  SCOPES_OF_A_MACHINE,
  type MachineAgentScope,
} from '../../../contracts/scopes.ts'
import { areaField, choice, inputField, selectField } from '../../../pages/parts.ts'
import { sourceChoice } from '../../../pages/source-choice.ts'
import { roleOptions } from '../../components.ts'
import {
  createRoutes,
  hasRole,
  organizationOf,
  requireRole,
  sessionOf,
  type PageContext,
} from '../../context.ts'
import { attempt, formCard, statusOf, text, texts } from '../../forms.ts'
import { page } from '../../layout.ts'
import { findMember, memberField } from '../../member-field.ts'
import { EXPIRIES, expiryIn, MACHINE_AGENTS_PATH } from './machine-agent-labels.ts'
import { credentialCreated } from './machine-credential.ts'

export const newMachineAgentRoutes = () =>
  createRoutes()
    .get('/agents/machine/new', (c) => showNew(c, leastFor(c)))
    .post('/agents/machine/new', create)

type Submitted = {
  name: string
  role: GrantableRole
  owner: string
  ends: string
  scopes: readonly string[]
  isLimited: boolean
  sources: readonly string[]
  isByKey: boolean
  public_key: string
}

/** What whoever changes nothing gets: whoever needs more says so. */
const leastFor = (c: PageContext): Submitted => ({
  name: '',
  role: 'viewer',
  owner: sessionOf(c).me.user.email,
  ends: '90',
  scopes: DEFAULT_SCOPES.platform,
  isLimited: false,
  sources: [],
  isByKey: false,
  public_key: '',
})

async function showNew(c: PageContext, now: Submitted, problem?: ServiceError) {
  requireRole(c, 'admin', 'Only owners and admins can create machine agents')
  const { data_sources } = await sessionOf(c).call(listAskableDataSources, { limit: EXPOSED_MAX })
  return page(c, {
    title: 'New machine agent',
    lead: 'It calls the tools of /platform with credentials of its own. It cannot sign in or approve anything.',
    status: statusOf(problem),
    body: formCard(c, {
      action: `${MACHINE_AGENTS_PATH}/new`,
      problem,
      shown: ['name', 'owner', 'public_key'],
      fields: html`${inputField({
        name: 'name',
        label: 'Name',
        value: now.name,
        required: true,
        maxlength: 120,
        autocomplete: 'off',
        hint: 'What it is for, such as “Nightly report”.',
        problem,
      })}
      ${selectField({
        name: 'role',
        label: 'Role',
        value: now.role,
        options: roleOptions(organizationOf(c).role),
        hint: 'It never exceeds this role or the current role of its owner.',
      })}
      ${await memberField(c, {
        name: 'owner',
        label: 'Owner',
        value: now.owner,
        hint: 'The member who answers for it. It stops working when they leave.',
        problem,
      })}
      ${selectField({ name: 'ends', label: 'Expires', value: now.ends, options: EXPIRIES })}
      <fieldset>
        <legend>Permissions</legend>
        ${scopesOffered(c).map((scope) => choice('checkbox', 'scopes', scope, now.scopes.includes(scope), SCOPES_OF_A_MACHINE[scope], html`<code>${scope}</code>`))}
      </fieldset>
      ${
        data_sources.length > 0 &&
        sourceChoice({
          legend: 'Data sources',
          fields: { which: 'which', source: 'sources' },
          all: 'All that its role can query, including future ones',
          sources: data_sources.map(({ id, name }) => ({ id, name, note: html`<code>${id}</code>` })),
          isLimited: now.isLimited,
          isTicked: (id) => now.sources.includes(id),
        })
      }
      ${credentialChoice(now, problem)}`,
      submit: 'Create machine agent',
      cancel: MACHINE_AGENTS_PATH,
    }),
  })
}

/** Only owners may give the last one. */
const scopesOffered = (c: PageContext): readonly MachineAgentScope[] =>
  MACHINE_AGENT_SCOPES.filter((scope) => scope !== 'maintenance:admin' || hasRole(sessionOf(c), 'owner'))

const credentialChoice = (now: { isByKey: boolean; public_key: string }, problem?: ServiceError) =>
  html`<fieldset>
    <legend>Credential</legend>
    ${choice('radio', 'credential', 'secret', !now.isByKey, 'A secret', 'Made here and shown once.')}
    ${choice('radio', 'credential', 'key', now.isByKey, 'A public key', 'The program signs with its private key, which stays where it is.')}
    <div class="if-chosen">${publicKeyField('public_key', now.public_key, problem)}</div>
  </fieldset>`

export const publicKeyField = (id: string, value: string, problem?: ServiceError) =>
  areaField({
    id,
    name: 'public_key',
    label: 'Public key as JWK',
    rows: 4,
    maxlength: 4_000,
    value,
    placeholder: '{"kty":"EC","crv":"P-256","x":"…","y":"…"}',
    hint: 'P-256, Ed25519, or RSA of 2048 bits and more.',
    problem,
  })

/** As an object, which is all that can be said here; the gateway reads the key. */
export function readJwk(submitted: string): { kty: 'EC' | 'OKP' | 'RSA'; [member: string]: unknown } {
  try {
    const parsed: unknown = JSON.parse(submitted)
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
      return parsed as ReturnType<typeof readJwk>
  } catch {
    // Said below.
  }
  throw new ServiceError('INVALID_REQUEST', undefined, {
    problems: ['public_key: must be a JWK, which is JSON between { and }'],
  })
}

async function create(c: PageContext) {
  const fields = c.get('form')
  const submitted: Submitted = {
    name: text(fields, 'name'),
    role: GrantableRole.catch('viewer').parse(text(fields, 'role')),
    owner: text(fields, 'owner'),
    ends: EXPIRIES.find(({ value }) => value === fields.get('ends'))?.value ?? '90',
    scopes: texts(fields, 'scopes'),
    isLimited: text(fields, 'which') === 'chosen',
    sources: texts(fields, 'sources'),
    isByKey: text(fields, 'credential') === 'key',
    public_key: text(fields, 'public_key').trim(),
  }
  const result = await attempt(async () => {
    refuseNothing(submitted)
    const { user_id } = await findMember(c, 'owner', submitted.owner)
    return sessionOf(c).call(createMachineAgent, {
      name: submitted.name,
      role: submitted.role,
      owner_id: user_id,
      expires_at: expiryIn(submitted.ends, c.var.deps.clock()),
      // An empty list is sent as such: the gateway refuses it, while leaving it out would mean the default.
      scopes: MACHINE_AGENT_SCOPES.filter((scope) => submitted.scopes.includes(scope)),
      sources: submitted.isLimited ? [...submitted.sources] : undefined,
      public_key: submitted.isByKey ? readJwk(submitted.public_key) : undefined,
    })
  })
  if ('problem' in result) return showNew(c, submitted, result.problem)
  return credentialCreated(c, 'Machine agent created', result.done, result.done.secret)
}

/** The gateway refuses it too, with a message for API callers; no data source at all is never meant. */
function refuseNothing({ scopes, isLimited, sources }: Submitted): void {
  if (scopes.length === 0) throw new ServiceError('INVALID_REQUEST', 'Select at least one permission')
  if (isLimited && sources.length === 0)
    throw new ServiceError('INVALID_REQUEST', 'Select at least one data source')
}
