/** What a new organization still lacks; gone once it has everything. */
import { html } from 'hono/html'
import { card } from '../../../pages/parts.ts'
import { hasRole, type ConsoleSession, type PageContext } from '../../context.ts'
import { assistantLinks } from '../connect/assistant-links.ts'
import type { Facts } from './facts.ts'

export function firstSteps(c: PageContext, session: ConsoleSession, facts: Facts) {
  const steps = [
    hasRole(session, 'admin') &&
      facts.sources.exposed === 0 &&
      html`<li><a href="/console/data-sources">Expose a data source</a><p class="note">Lets members and their assistants query a database.</p></li>`,
    session.organization?.agents_enabled === true &&
      facts.agentCount === 0 &&
      html`<li><a href="/console/connect">Connect an assistant</a><p class="note">You approve its access and can change or revoke it at any time.</p>${assistantLinks(c)}</li>`,
    facts.isAlone &&
      html`<li><a href="/console/members#about-invite">Invite your team</a><p class="note">Choose a role for each person, up to your own.</p></li>`,
  ].filter((step) => step !== false)
  return steps.length > 0 && card('Get started', html`<ul class="first-steps">${steps}</ul>`)
}
