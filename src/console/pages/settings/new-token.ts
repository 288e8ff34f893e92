/** Settings > API tokens > New: the value is shown once, in the response to the form. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { AudienceName } from '../../../contracts/fields.ts'
import { AUDIENCES, SCOPES, type Audience } from '../../../contracts/scopes.ts'
import { createApiToken } from '../../../contracts/tokens.ts'
import { choice, linkButton, notice } from '../../../pages/parts.ts'
import { copyable, roleOptions } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { formOf, refuse, type Refused } from '../../fields.ts'
import { attempt, statusOf, text, formCard } from '../../forms.ts'
import { page } from '../../layout.ts'

export const TOKENS_PATH = '/console/settings/tokens'

export const newTokenRoutes = () =>
  createRoutes()
    .get('/settings/tokens/new', (c) => showNew(c))
    .post('/settings/tokens/new', create)

export const AUDIENCE_LABELS: Record<Audience, { label: string; about: string }> = {
  api: { label: 'HTTP API', about: 'All endpoints under /api' },
  platform: { label: 'Platform for assistants', about: 'The MCP endpoint /platform' },
  notifications: { label: 'Notifications for assistants', about: 'The MCP endpoint /notifications' },
}

const ENDS = [7, 30, 90]
  .map((days) => ({ value: String(days), label: `In ${days} days` }))
  .concat({ value: '365', label: 'In 1 year' }, { value: '', label: 'Never' })

const NEW_TOKEN = formOf(createApiToken, ['name', 'role_cap', 'scopes', 'audiences', 'expires_in_days'], {
  expires_in_days: { name: 'ends', options: ENDS },
})

/** What whoever changes nothing gets: whoever needs more says so. */
const LEAST = { role_cap: 'viewer' as const, scopes: ['data:read'], audiences: ['api'], expires_in_days: 30 }

/** The pages that need one for something else than the HTTP API lead here with its name. */
const leastFor = (audience: string | undefined) => {
  const name = AudienceName.safeParse(audience).data
  return name === undefined ? LEAST : { ...LEAST, audiences: [name] }
}

const isScoped = (form: FormData): boolean => text(form, 'access') !== 'role'

function showNew(c: PageContext, refused?: Refused) {
  const form = NEW_TOKEN.show({ now: leastFor(c.req.query('audience')), refused })
  const scoped = refused ? isScoped(refused.form) : true
  return page(c, {
    title: 'New API token',
    lead: 'Starts with the least access: reading data, for 30 days. Add what it needs.',
    status: statusOf(refused?.problem),
    body: formCard(c, {
      action: `${TOKENS_PATH}/new`,
      of: form,
      fields: html`${form.field('name')} ${form.field('role_cap', { options: roleOptions(organizationOf(c).role) })}
      <fieldset class="access">
        <legend>Permissions</legend>
        ${choice('radio', 'access', 'scopes', scoped, 'Only selected permissions', 'Such a token cannot create tokens or manage members.')}
        <div class="scopes">
          ${Object.entries(SCOPES).map(([scope, label]) => choice('checkbox', 'scopes', scope, form.list('scopes').includes(scope), label, html`<code>${scope}</code>`))}
        </div>
        ${choice('radio', 'access', 'role', !scoped, 'All permissions of the role', 'Everything that you may do, up to the role above. For your own terminal, not for a script.')}
      </fieldset>
      <fieldset>
        <legend>Audiences</legend>
        ${AUDIENCES.map((name) => choice('checkbox', 'audiences', name, form.list('audiences').includes(name), AUDIENCE_LABELS[name].label, AUDIENCE_LABELS[name].about))}
      </fieldset>
      ${form.field('expires_in_days')}`,
      submit: 'Create token',
      cancel: TOKENS_PATH,
    }),
  })
}

async function create(c: PageContext) {
  const submitted = c.get('form')
  const { role_cap = LEAST.role_cap, scopes, expires_in_days, ...rest } = NEW_TOKEN.read(submitted)
  const isOffered = ENDS.some(({ value }) => value === submitted.get('ends'))
  const input = {
    ...rest,
    role_cap,
    // An empty list is sent as such: the gateway refuses it, while leaving it out would allow everything.
    scopes: isScoped(submitted) ? scopes : undefined,
    expires_in_days: isOffered ? expires_in_days : LEAST.expires_in_days,
  }
  const missing = nothingTicked(input)
  if (missing) return showNew(c, refuse(c, missing))
  const result = await attempt(() => sessionOf(c).call(createApiToken, input))
  if ('problem' in result) return showNew(c, refuse(c, result.problem))
  // Shown in this response and nowhere else: not in a cookie, not in an address.
  return page(c, {
    title: 'Token created',
    status: 201,
    body: html`<div class="card">
      ${notice('info', html`<p><strong>Copy it now.</strong> It is not stored and cannot be shown again.</p>`)}
      ${copyable('token', result.done.token, `Value of ${result.done.name}`)}
      <p>Try it:</p>
      ${copyable('try', `curl -H "Authorization: Bearer ${result.done.token}" ${apiAddress(c, '/api/v1/me')}`, 'Command that uses the token')}
      <div class="actions">${linkButton(TOKENS_PATH, 'Done')}</div>
    </div>`,
  })
}

/** The gateway refuses it too, with a message for API callers. */
function nothingTicked({
  scopes,
  audiences,
}: z.input<typeof createApiToken.input>): ServiceError | undefined {
  if (scopes?.length === 0) return new ServiceError('INVALID_REQUEST', 'Select at least one permission')
  if (audiences?.length === 0) return new ServiceError('INVALID_REQUEST', 'Select at least one audience')
  return undefined
}

export const apiAddress = (c: PageContext, path: string): string =>
  new URL(path, c.var.deps.apiUrl ?? c.var.deps.appUrl).href
