/** Whether the assistant that is being connected has been approved, and whether it has called. */
import { html } from 'hono/html'
import { listActivity } from '../../../contracts/activity.ts'
import { listGrants } from '../../../contracts/grants.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { icon } from '../../../pages/icons.ts'
import { linkButton, type Content } from '../../../pages/parts.ts'
import { organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { agentPath } from '../agents/agent-labels.ts'
import { clientLabel, clientOf } from '../agents/client-labels.ts'
import { ACTIVITY_PATH } from '../activity/activity-rows.ts'
import { BY_TOKEN, CONNECT_PATH, type Way } from './assistant-links.ts'

/** Nothing yet; approved, but silent; or its first call has arrived. */
type Progress =
  | { state: 'waiting' }
  | { state: 'approved'; called: string }
  | { state: 'connected'; called: string; href: string }

const DAY_SECONDS = 24 * 60 * 60
/** Of an address without a time: as long as somebody takes to copy a command and sign in. */
const RECENT_SECONDS = 10 * 60

/** From an address that people edit, keep and send: a time that makes no sense is not one. */
export function readSince(since: string | undefined, now: Date): Date {
  const nowSeconds = Math.floor(now.getTime() / 1_000)
  const given = /^\d{1,12}$/.test(since ?? '') ? Number(since) : 0
  const isRecent = given <= nowSeconds && given > nowSeconds - DAY_SECONDS
  return new Date((isRecent ? given : nowSeconds - RECENT_SECONDS) * 1_000)
}

export const progressOf = (c: PageContext, way: Way, since: Date): Promise<Progress> =>
  way === BY_TOKEN.id ? progressOfToken(c, since) : progressOfAgent(c, since)

/** Their newest agents are first; two people who connect at once do not see each other's. */
async function progressOfAgent(c: PageContext, since: Date): Promise<Progress> {
  const { grants } = await sessionOf(c).call(listGrants, { limit: 5 })
  const recent = grants.filter(({ created_at }) => new Date(created_at) >= since)
  const grant = recent.find(({ last_used_at }) => last_used_at !== null) ?? recent[0]
  if (!grant) return { state: 'waiting' }
  const called = clientLabel(clientOf(grant))
  return grant.last_used_at === null
    ? { state: 'approved', called }
    : { state: 'connected', called, href: agentPath(grant.id) }
}

/** A token belongs to no agent, so its first call is one of theirs at the MCP endpoints without any. */
async function progressOfToken(c: PageContext, since: Date): Promise<Progress> {
  const { call, me } = sessionOf(c)
  const { activity } = await call(listActivity, {
    type: 'all',
    entry_point: 'mcp',
    user_id: me.user.id,
    from: since.toISOString(),
    // An agent of theirs may call in between.
    limit: PAGE_MAX,
  })
  const first = activity.findLast(({ grant_id }) => grant_id === null)
  if (!first) return { state: 'waiting' }
  const type = new URLSearchParams({ type: first.type, via: 'mcp' })
  return { state: 'connected', called: 'A program with your API token', href: `${ACTIVITY_PATH}?${type}` }
}

/** The script asks for it again and again until it is final. Without scripts, "Check again" does. */
export const progressPart = (c: PageContext, way: Way, since: Date, progress: Progress) => {
  const query = new URLSearchParams({ assistant: way, since: String(since.getTime() / 1_000) })
  return html`<div class="first-call" role="status" data-refresh="${CONNECT_PATH}/first-call?${query}">${progressText(c, way, progress, `${CONNECT_PATH}?${query}`)}</div>`
}

export function progressText(c: PageContext, way: Way, progress: Progress, here: string): Content {
  const isDone = progress.state === 'connected'
  return html`<ol class="steps" ${isDone && html`data-final`}>
      ${way !== BY_TOKEN.id && step(progress.state !== 'waiting', progress.state === 'waiting' ? 'Waiting for your approval' : html`You approved <bdi>${progress.called}</bdi>`)}
      ${step(isDone, isDone ? 'Its first call has arrived' : 'Waiting for its first call')}
    </ol>
    ${
      isDone
        ? html`<p><strong><bdi>${progress.called}</bdi> is connected.</strong> Ask it something about your data.</p>
          <div class="actions">${linkButton(progress.href, way === BY_TOKEN.id ? 'See its calls' : 'Open its page')}</div>`
        : html`<p class="note">Approve it for ${organizationOf(c).name}. This turns green when it calls. <a href="${here}">Check again</a></p>`
    }`
}

const step = (isDone: boolean, label: Content) =>
  html`<li class="${isDone ? 'step step-done' : 'step'}"><span class="step-mark">${isDone && icon('check')}</span><div class="step-label">${label}</div></li>`
