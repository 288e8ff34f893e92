/** Settings > API tokens > New: the value is shown once, in the response to the form. */
import { html } from 'hono/html'
import { ServiceError } from '../../../contracts/errors.ts'
import { GrantableRole, type Role } from '../../../contracts/roles.ts'
import { AudienceName, ScopeName } from '../../../contracts/fields.ts'
import { AUDIENCES, SCOPES, type Audience, type Scope } from '../../../contracts/scopes.ts'
import { createApiToken } from '../../../contracts/tokens.ts'
import { choice, inputField, linkButton, notice, selectField } from '../../../pages/parts.ts'
import { copyable, roleOptions } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { attempt, statusOf, text, texts, formCard } from '../../forms.ts'
import { page } from '../../layout.ts'

export const TOKENS_PATH = '/console/settings/tokens'

export const newTokenRoutes = () =>
  createRoutes()
    .get('/settings/tokens/new', (c) => showNew(c, leastFor(c.req.query('audience'))))
    .post('/settings/tokens/new', create)

export const AUDIENCE_LABELS: Record<Audience, { label: string; about: string }> = {
  api: { label: 'HTTP API', about: 'All endpoints under /api' },
  platform: { label: 'Platform for assistants', about: 'The MCP endpoint /platform' },
  notifications: { label: 'Notifications for assistants', about: 'The MCP endpoint /notifications' },
}

const ENDS: readonly { value: string; label: string }[] = [
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In 1 year' },
  { value: '', label: 'Never' },
]

type Submitted = {
  name: string
  role_cap: Exclude<Role, 'member'>
  isScoped: boolean
  scopes: readonly string[]
  audiences: readonly string[]
  ends: string
}

/** What whoever changes nothing gets: whoever needs more says so. */
const LEAST: Submitted = {
  name: '',
  role_cap: 'viewer',
  isScoped: true,
  scopes: ['data:read' satisfies Scope],
  audiences: ['api' satisfies Audience],
  ends: '30',
}

/** The pages that need one for something else than the HTTP API lead here with its name. */
function leastFor(audience: string | undefined): Submitted {
  const name = AudienceName.safeParse(audience).data
  return name === undefined ? LEAST : { ...LEAST, audiences: [name] }
}

function showNew(c: PageContext, now: Submitted, problem?: ServiceError) {
  const own = organizationOf(c).role
  return page(c, {
    title: 'New API token',
    lead: 'Starts with the least access: reading data, for 30 days. Add what it needs.',
    status: statusOf(problem),
    body: formCard(c, {
      action: `${TOKENS_PATH}/new`,
      problem,
      shown: ['name'],
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
        name: 'role_cap',
        label: 'Role',
        value: now.role_cap,
        options: roleOptions(own),
        hint: 'The token never exceeds this role or your own current role.',
      })}
      <fieldset class="access">
        <legend>Permissions</legend>
        ${choice('radio', 'access', 'scopes', now.isScoped, 'Only selected permissions', 'Such a token cannot create tokens or manage members.')}
        <div class="scopes">
          ${Object.entries(SCOPES).map(([scope, label]) => choice('checkbox', 'scopes', scope, now.scopes.includes(scope), label, html`<code>${scope}</code>`))}
        </div>
        ${choice('radio', 'access', 'role', !now.isScoped, 'All permissions of the role', 'Everything that you may do, up to the role above. For your own terminal, not for a script.')}
      </fieldset>
      <fieldset>
        <legend>Audiences</legend>
        ${AUDIENCES.map((name) => choice('checkbox', 'audiences', name, now.audiences.includes(name), AUDIENCE_LABELS[name].label, AUDIENCE_LABELS[name].about))}
      </fieldset>
      ${selectField({ name: 'ends', label: 'Expires', value: now.ends, options: ENDS })}`,
      submit: 'Create token',
      cancel: TOKENS_PATH,
    }),
  })
}

async function create(c: PageContext) {
  const fields = c.get('form')
  const submitted: Submitted = {
    name: text(fields, 'name'),
    role_cap: GrantableRole.catch('viewer').parse(text(fields, 'role_cap')),
    isScoped: text(fields, 'access') !== 'role',
    scopes: texts(fields, 'scopes'),
    audiences: texts(fields, 'audiences'),
    ends: ENDS.find(({ value }) => value === fields.get('ends'))?.value ?? LEAST.ends,
  }
  const missing = nothingTicked(submitted)
  if (missing) return showNew(c, submitted, missing)
  const result = await attempt(() =>
    sessionOf(c).call(createApiToken, {
      name: submitted.name,
      role_cap: submitted.role_cap,
      // An empty list is sent as such: the gateway refuses it, while leaving it out would allow everything.
      scopes: submitted.isScoped
        ? submitted.scopes.filter((scope): scope is Scope => ScopeName.safeParse(scope).success)
        : undefined,
      audiences: submitted.audiences.filter((name): name is Audience => AudienceName.safeParse(name).success),
      expires_in_days: submitted.ends === '' ? undefined : Number(submitted.ends),
    }),
  )
  if ('problem' in result) return showNew(c, submitted, result.problem)
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
function nothingTicked({ isScoped, scopes, audiences }: Submitted): ServiceError | undefined {
  if (isScoped && scopes.length === 0)
    return new ServiceError('INVALID_REQUEST', 'Select at least one permission')
  if (audiences.length === 0) return new ServiceError('INVALID_REQUEST', 'Select at least one audience')
  return undefined
}

export const apiAddress = (c: PageContext, path: string): string =>
  new URL(path, c.var.deps.apiUrl ?? c.var.deps.appUrl).href
