/** Settings > API tokens: the list, rotating and revoking one. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { AUDIENCES } from '../../../contracts/scopes.ts'
import { listApiTokens, revokeApiToken, rotateApiToken, type ApiToken } from '../../../contracts/tokens.ts'
import { returnPath, confirmDialog } from '../../forms.ts'
import { act, routeInput } from '../../act.ts'
import { listOf } from '../../list-of.ts'
import { page } from '../../layout.ts'
import { day, emptyState, ownerFilter, roleBadge, listCard } from '../../components.ts'
import { linkButton } from '../../../pages/parts.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { lastUsed, rotate, rotateDialog, tokenRotated } from '../../rotation.ts'
import { apiAddress, AUDIENCE_LABELS, TOKENS_PATH } from './new-token.ts'

const TOKENS = listOf(listApiTokens, { search: { label: 'Name' } })

type Token = z.output<typeof ApiToken>

export const tokenRoutes = () =>
  createRoutes()
    .get('/settings/tokens', showTokens)
    .post('/settings/tokens/:token_id/rotate', rotateToken)
    .post('/settings/tokens/:token_id/revoke', revoke)

async function showTokens(c: PageContext) {
  const organization = organizationOf(c)
  const session = sessionOf(c)
  const isAdmin = hasRole(session, 'admin')
  const isAll = isAdmin && c.req.query('all') === 'true'
  const listed = await TOKENS.call(c, { all: isAll ? 'true' : 'false' })
  const parts = TOKENS.parts(c, listed)
  return page(c, {
    title: 'API tokens',
    lead: `For scripts and assistants that act in ${organization.name} on your behalf.`,
    actions: html`${linkButton(apiAddress(c, '/api/docs'), 'API reference', 'quiet')} ${linkButton(`${TOKENS_PATH}/new`, 'Create token')}`,
    body: listCard(c, {
      ...parts,
      noun: 'tokens',
      filters: html`${parts.filters} ${isAdmin && ownerFilter(isAll, 'tokens')}`,
      caption: 'API tokens',
      columns: ['Token', ...(isAll ? ['User'] : []), 'Access', 'Last used', 'Expires', '(Actions)'],
      rows: listed.tokens.map((token) => tokenRow(c, token, isAll)),
      empty: emptyState(
        'No API tokens yet',
        'A token lets a script or assistant call the API on your behalf, limited to what you choose.',
        linkButton(`${TOKENS_PATH}/new`, 'Create token'),
      ),
    }),
  })
}

const tokenRow = (c: PageContext, token: Token, isAll: boolean) => [
  html`<div class="two-lines"><strong>${token.name}</strong><code class="note">${token.starts_with}…</code></div>`,
  ...(isAll ? [html`${token.user_name}`] : []),
  html`<div class="two-lines"><span>${roleBadge(token.role_cap)}</span><span class="note">${reach(token)}</span></div>`,
  lastUsed(token.last_used_at, token.previous),
  token.expires_at ? day(token.expires_at) : html`<span class="note">Never</span>`,
  html`<div class="row-actions">${
    // With the value of a colleague's they would be that colleague.
    token.user_id === sessionOf(c).me.user.id &&
    rotateDialog(c, { id: token.id, name: token.name, action: `${TOKENS_PATH}/${token.id}/rotate` })
  } ${confirmDialog(c, {
    label: 'Revoke',
    name: `Revoke ${token.name}`,
    title: `Revoke ${token.name}?`,
    action: `${TOKENS_PATH}/${token.id}/revoke`,
    text: 'Anything that uses this token stops working immediately. This cannot be undone.',
    submit: 'Revoke token',
  })}</div>`,
]

function reach({ scopes, audiences }: Token): string {
  const may = scopes === null ? 'all permissions of the role' : scopes.join(', ')
  return audiences.length === AUDIENCES.length
    ? may
    : `${may}; ${audiences.map((name) => AUDIENCE_LABELS[name].label).join(', ')}`
}

const rotateToken = (c: PageContext) =>
  rotate(
    c,
    returnPath(c, TOKENS_PATH),
    (chosen) => sessionOf(c).call(rotateApiToken, { ...routeInput(c, rotateApiToken), ...chosen }),
    (done) => tokenRotated(c, done, TOKENS_PATH),
  )

const revoke = act(revokeApiToken, { back: (c) => returnPath(c, TOKENS_PATH), done: 'Token revoked.' })
