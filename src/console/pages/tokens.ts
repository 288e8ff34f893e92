/** API tokens: list, make (the value is shown once), revoke. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { ServiceError } from '../../contracts/errors.ts'
import { atLeast, GRANTABLE_ROLES, GrantableRole, type Role } from '../../contracts/roles.ts'
import {
  AUDIENCES,
  AudienceName,
  ScopeName,
  SCOPES,
  type Audience,
  type Scope,
} from '../../contracts/scopes.ts'
import { createToken, listTokens, revokeToken, type ApiToken } from '../../contracts/tokens.ts'
import { attempt, statusOf } from '../attempt.ts'
import { actAndReturn } from '../flash.ts'
import { page } from '../layout.ts'
import {
  backField,
  copyable,
  day,
  emptyState,
  filters,
  form,
  opens,
  pager,
  roleBadge,
  ROLE_WORDS,
  table,
  time,
} from '../parts.ts'
import {
  button,
  choice,
  inputField,
  linkButton,
  notice,
  problemNotice,
  selectField,
} from '../../pages/parts.ts'
import { backFrom, hasRole, organizationOf, text, texts, visitOf, type ConsoleEnv } from '../visit.ts'

type C = Context<ConsoleEnv>
type Token = z.output<typeof ApiToken>
const PATH = '/console/settings/tokens'

export const tokenPages = () =>
  new Hono<ConsoleEnv>()
    .get('/settings/tokens', showTokens)
    .get('/settings/tokens/new', (c) => showNew(c))
    .post('/settings/tokens/new', create)
    .post('/settings/tokens/:id/revoke', revoke)

async function showTokens(c: C) {
  const organization = organizationOf(c)
  const visit = visitOf(c)
  const isAdmin = hasRole(visit, 'admin')
  const isAll = isAdmin && c.req.query('all') === 'true'
  const search = c.req.query('search')?.trim().slice(0, 120) || undefined
  const { tokens, next_cursor } = await visit.call(listTokens, {
    all: isAll ? 'true' : 'false',
    search,
    cursor: c.req.query('cursor'),
  })
  const isFiltered = search !== undefined || isAll
  return page(c, {
    title: 'API tokens',
    lead: `For scripts and assistants that work in ${organization.name} on your behalf.`,
    actions: linkButton(`${PATH}/new`, 'New token'),
    body: html`<div class="card card-list">
      ${filters(
        c,
        'Filter tokens',
        html`${inputField({ name: 'search', label: 'Name', type: 'search', value: search ?? '', maxlength: 120 })}
        ${
          isAdmin &&
          selectField({
            name: 'all',
            label: 'Whose',
            value: String(isAll),
            options: [
              { value: 'false', label: 'Mine' },
              { value: 'true', label: 'Everybody’s' },
            ],
          })
        }`,
      )}
      ${
        tokens.length === 0
          ? isFiltered
            ? emptyState(
                'No token matches',
                'Try a shorter part of the name.',
                html`<a href="${PATH}">Show all of mine</a>`,
              )
            : emptyState(
                'You have no API token yet',
                'A token lets a script or an assistant call the API as you, limited to what you choose.',
                linkButton(`${PATH}/new`, 'Make the first one'),
              )
          : table(
              'API tokens',
              ['Token', ...(isAll ? ['Person'] : []), 'Access', 'Last used', 'Expires', '(Actions)'],
              tokens.map((token) => tokenCells(c, token, isAll)),
            )
      }
      ${pager(c, next_cursor)}
    </div>`,
  })
}

const AUDIENCE_WORDS: Record<Audience, { label: string; about: string }> = {
  api: { label: 'HTTP API', about: 'Everything under /api' },
  platform: { label: 'Platform for assistants', about: 'The MCP endpoint /platform' },
  notifications: { label: 'Notifications for assistants', about: 'The MCP endpoint /notifications' },
}

const tokenCells = (c: C, token: Token, isAll: boolean) => [
  html`<div class="two-lines"><strong>${token.name}</strong><code class="note">${token.starts_with}…</code></div>`,
  ...(isAll ? [html`${token.user_name}`] : []),
  html`<div class="two-lines"><span>${roleBadge(token.role_cap)}</span><span class="note">${reach(token)}</span></div>`,
  token.last_used_at ? time(token.last_used_at) : html`<span class="note">never</span>`,
  token.expires_at ? day(token.expires_at) : html`<span class="note">no expiry</span>`,
  html`<div class="row-actions">${opens(
    `revoke-${token.id}`,
    'Revoke',
    {
      title: `Revoke ${token.name}?`,
      content: form(
        c,
        `${PATH}/${token.id}/revoke`,
        html`${backField(c)}
          <p>Whatever uses this token stops working at once. This cannot be undone; you can make another.</p>
          ${button('Revoke the token', 'danger')}`,
        'stack',
      ),
    },
    `Revoke ${token.name}`,
  )}</div>`,
]

function reach({ scopes, audiences }: Token): string {
  const may = scopes === null ? 'everything the role allows' : scopes.join(', ')
  return audiences.length === AUDIENCES.length
    ? may
    : `${may}; ${audiences.map((name) => AUDIENCE_WORDS[name].label).join(', ')}`
}

const ENDS: readonly { value: string; label: string }[] = [
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: '', label: 'Never' },
]

type Typed = {
  name: string
  role_cap: Exclude<Role, 'member'>
  isScoped: boolean
  scopes: readonly string[]
  audiences: readonly string[]
  ends: string
}

function showNew(c: C, typed?: Typed, problem?: ServiceError) {
  const own = organizationOf(c).role
  const now: Typed = typed ?? {
    name: '',
    role_cap: own === 'member' ? 'viewer' : own,
    isScoped: false,
    scopes: [],
    audiences: AUDIENCES,
    ends: '90',
  }
  return page(c, {
    title: 'New API token',
    lead: 'Give it no more than its task needs.',
    status: statusOf(problem),
    body: html`<div class="card">
      ${problemNotice(problem, ['name'])}
      ${form(
        c,
        `${PATH}/new`,
        html`${inputField({
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
          options: GRANTABLE_ROLES.filter((role) => atLeast(own, role)).map((value) => ({
            value,
            label: ROLE_WORDS[value].label,
          })),
          hint: 'It never acts above this, nor above your own role at that moment.',
        })}
        <fieldset class="access">
          <legend>What it may do</legend>
          ${choice('radio', 'access', 'role', !now.isScoped, 'Everything the role allows')}
          ${choice('radio', 'access', 'scopes', now.isScoped, 'Only what I tick', 'Such a token cannot make tokens or change members.')}
          <div class="scopes">
            ${Object.entries(SCOPES).map(([scope, words]) => choice('checkbox', 'scopes', scope, now.scopes.includes(scope), words, html`<code>${scope}</code>`))}
          </div>
        </fieldset>
        <fieldset>
          <legend>Where it works</legend>
          ${AUDIENCES.map((name) => choice('checkbox', 'audiences', name, now.audiences.includes(name), AUDIENCE_WORDS[name].label, AUDIENCE_WORDS[name].about))}
        </fieldset>
        ${selectField({ name: 'ends', label: 'Expires', value: now.ends, options: ENDS })}
        <div class="actions">${button('Make the token')} ${linkButton(PATH, 'Cancel', 'quiet')}</div>`,
        'stack',
      )}
    </div>`,
  })
}

async function create(c: C) {
  const fields = c.get('form')
  const typed: Typed = {
    name: text(fields, 'name'),
    role_cap: GrantableRole.catch('viewer').parse(text(fields, 'role_cap')),
    isScoped: text(fields, 'access') === 'scopes',
    scopes: texts(fields, 'scopes'),
    audiences: texts(fields, 'audiences'),
    ends: text(fields, 'ends'),
  }
  const missing = nothingTicked(typed)
  if (missing) return showNew(c, typed, missing)
  const tried = await attempt(() =>
    visitOf(c).call(createToken, {
      name: typed.name,
      role_cap: typed.role_cap,
      // None left is sent as none: the gateway refuses it, where leaving it out would allow everything.
      scopes: typed.isScoped
        ? typed.scopes.filter((scope): scope is Scope => ScopeName.safeParse(scope).success)
        : undefined,
      audiences: typed.audiences.filter((name): name is Audience => AudienceName.safeParse(name).success),
      expires_in_days: typed.ends === '' ? undefined : Number(typed.ends),
    }),
  )
  if ('problem' in tried) return showNew(c, typed, tried.problem)
  // Shown in this answer and nowhere else: not in a cookie, not in an address.
  return page(c, {
    title: 'Your new token',
    status: 201,
    body: html`<div class="card">
      ${notice('info', html`<p><strong>Copy it now.</strong> It is not stored and cannot be shown again.</p>`)}
      ${copyable('token', tried.done.token, `Value of ${tried.done.name}`)}
      <p>Try it:</p>
      ${copyable('try', `curl -H "Authorization: Bearer ${tried.done.token}" ${apiAddress(c)}`, 'A command that tries the token')}
      <div class="actions">${linkButton(PATH, 'Done, I have it')}</div>
    </div>`,
  })
}

/** The gateway refuses it too, in the words of an API. */
function nothingTicked({ isScoped, scopes, audiences }: Typed): ServiceError | undefined {
  if (isScoped && scopes.length === 0)
    return new ServiceError('INVALID_REQUEST', 'Tick at least one thing it may do')
  if (audiences.length === 0)
    return new ServiceError('INVALID_REQUEST', 'Tick at least one place where it works')
  return undefined
}

const apiAddress = (c: C): string => new URL('/api/v1/me', c.var.needs.apiUrl ?? c.var.needs.appUrl).href

function revoke(c: C) {
  const back = backFrom(c)
  return actAndReturn(c, back.startsWith(PATH) ? back : PATH, 'The token was revoked.', () =>
    visitOf(c).call(revokeToken, { token_id: c.req.param('id') ?? '' }),
  )
}
