/** Machine agents > New: its secret is shown once, in the response to the form. */
import { html } from 'hono/html'
import { listAskableDataSources } from '../../../contracts/data-sources.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { EXPOSED_MAX } from '../../../contracts/limits.ts'
import { addMachineAgentCredential, createMachineAgent } from '../../../contracts/machine-agents.ts'
import {
  MACHINE_AGENT_SCOPES,
  SCOPES_OF_A_MACHINE,
  type MachineAgentScope,
} from '../../../contracts/scopes.ts'
import { choice, selectField } from '../../../pages/parts.ts'
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
import { formOf, refuse, type Refused } from '../../fields.ts'
import { attempt, formCard, statusOf, text, texts } from '../../forms.ts'
import { page } from '../../layout.ts'
import { findMember, memberField } from '../../member-field.ts'
import { EXPIRIES, expiryIn, MACHINE_AGENTS_PATH } from './machine-agent-labels.ts'
import { credentialCreated } from './machine-credential.ts'

export const newMachineAgentRoutes = () =>
  createRoutes()
    .get('/agents/machine/new', (c) => showNew(c))
    .post('/agents/machine/new', create)

const NEW_AGENT = formOf(createMachineAgent, ['name', 'role', 'scopes'])

/** A new agent may have one, too. */
export const KEY = formOf(addMachineAgentCredential, ['public_key'])

async function showNew(c: PageContext, refused?: Refused) {
  requireRole(c, 'admin', 'Only owners and admins can create machine agents')
  const { data_sources } = await sessionOf(c).call(listAskableDataSources, { limit: EXPOSED_MAX })
  const form = NEW_AGENT.show({ refused })
  const typed = refused?.form
  return page(c, {
    title: 'New machine agent',
    lead: 'It calls the tools of /platform with credentials of its own. It cannot sign in or approve anything.',
    status: statusOf(refused?.problem),
    body: formCard(c, {
      action: `${MACHINE_AGENTS_PATH}/new`,
      of: form,
      shown: [...form.shown, 'owner', 'public_key'],
      fields: html`${form.field('name')} ${form.field('role', { options: roleOptions(organizationOf(c).role) })}
      ${await memberField(c, {
        name: 'owner',
        label: 'Owner',
        now: sessionOf(c).me.user.email,
        hint: 'The member who answers for it. It stops working when they leave.',
        refused,
      })}
      ${selectField({ name: 'ends', label: 'Expires', value: endsIn(typed), options: EXPIRIES })}
      <fieldset>
        <legend>Permissions</legend>
        ${scopesOffered(c).map((scope) => choice('checkbox', 'scopes', scope, form.list('scopes').includes(scope), SCOPES_OF_A_MACHINE[scope], html`<code>${scope}</code>`))}
      </fieldset>
      ${
        data_sources.length > 0 &&
        sourceChoice({
          legend: 'Data sources',
          fields: { which: 'which', source: 'sources' },
          all: 'All that its role can query, including future ones',
          sources: data_sources.map(({ id, name }) => ({ id, name, note: html`<code>${id}</code>` })),
          isLimited: typed !== undefined && isLimited(typed),
          isTicked: (id) => typed !== undefined && texts(typed, 'sources').includes(id),
        })
      }
      ${credentialChoice(refused)}`,
      submit: 'Create machine agent',
      cancel: MACHINE_AGENTS_PATH,
    }),
  })
}

/** Only owners may give the last one. */
const scopesOffered = (c: PageContext): readonly MachineAgentScope[] =>
  MACHINE_AGENT_SCOPES.filter((scope) => scope !== 'maintenance:admin' || hasRole(sessionOf(c), 'owner'))

const credentialChoice = (refused: Refused | undefined) => {
  const byKey = refused !== undefined && isByKey(refused.form)
  return html`<fieldset>
    <legend>Credential</legend>
    ${choice('radio', 'credential', 'secret', !byKey, 'A secret', 'Made here and shown once.')}
    ${choice('radio', 'credential', 'key', byKey, 'A public key', 'The program signs with its private key, which stays where it is.')}
    <div class="if-chosen">${KEY.show({ refused }).all()}</div>
  </fieldset>`
}

const endsIn = (form: FormData | undefined): string =>
  EXPIRIES.find(({ value }) => form && value === text(form, 'ends'))?.value ?? '90'
const isLimited = (form: FormData): boolean => text(form, 'which') === 'chosen'
export const isByKey = (form: FormData): boolean => text(form, 'credential') === 'key'

/** As an object, which is all that can be said here; the gateway reads the key. */
export function readJwk(form: FormData): { kty: 'EC' | 'OKP' | 'RSA'; [member: string]: unknown } {
  try {
    const parsed: unknown = JSON.parse(text(form, 'public_key'))
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
  const submitted = c.get('form')
  const result = await attempt(async () => {
    const sources = isLimited(submitted) ? texts(submitted, 'sources') : undefined
    // An empty list is sent as such: the gateway refuses it, while leaving it out would mean the default.
    const input = { ...NEW_AGENT.read(submitted), sources }
    refuseNothing(input)
    const { user_id } = await findMember(c, 'owner', text(submitted, 'owner'))
    return sessionOf(c).call(createMachineAgent, {
      ...input,
      owner_id: user_id,
      expires_at: expiryIn(endsIn(submitted), c.var.deps.clock()),
      public_key: isByKey(submitted) ? readJwk(submitted) : undefined,
    })
  })
  if ('problem' in result) return showNew(c, refuse(c, result.problem))
  return credentialCreated(c, 'Machine agent created', result.done, result.done.secret)
}

/** The gateway refuses it too, with a message for API callers; no data source at all is never meant. */
function refuseNothing({
  scopes,
  sources,
}: {
  scopes?: readonly string[] | undefined
  sources: readonly string[] | undefined
}) {
  if (scopes?.length === 0) throw new ServiceError('INVALID_REQUEST', 'Select at least one permission')
  if (sources?.length === 0) throw new ServiceError('INVALID_REQUEST', 'Select at least one data source')
}
