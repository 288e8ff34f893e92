/** One data source, the Ask tab: query it, or what is missing before it can be queried. */
import { html } from 'hono/html'
import { card, linkButton } from '../../../pages/parts.ts'
import { statusOf } from '../../forms.ts'
import { createRoutes, hasRole, sessionOf, type PageContext } from '../../context.ts'
import { icon } from '../../../pages/icons.ts'
import { pathOf, roleAndAbove, sourceIdFrom, type Source } from './source-labels.ts'
import { openSource, sourcePage, tabPath, type OpenSource } from './source-tabs.ts'
import { runQuery, queryCard, type Query } from './query-form.ts'

export const dataSourceRoutes = () =>
  createRoutes()
    .get('/data-sources/:source_id', (c) => showAsk(c))
    .post('/data-sources/:source_id/ask', ask)
    // A form that answers without a redirect leaves its address in the browser; opened by hand it leads back.
    .get('/data-sources/:source_id/ask', (c) => c.redirect(pathOf(sourceIdFrom(c)), 302))

async function showAsk(c: PageContext) {
  return askPage(c, await openSource(c))
}

async function ask(c: PageContext) {
  const open = await openSource(c)
  return askPage(c, open, await runQuery(c, open.askable))
}

function askPage(c: PageContext, open: OpenSource, asked?: Query) {
  const { source, askable } = open
  return sourcePage(c, open, 'ask', {
    status: statusOf(asked?.problem),
    body: asked || !source || isAskable(c, source) ? queryCard(c, askable, asked) : notYet(source),
  })
}

const isAskable = (c: PageContext, { exposed, minimum_role, connection_config }: Source): boolean =>
  exposed && connection_config !== null && hasRole(sessionOf(c), minimum_role)

/** What has to be done first, each with the tab where it is done. */
function notYet(source: Source) {
  const { source_id: id, ready, connection_config, enabled, exposed, minimum_role } = source
  if (exposed && connection_config !== null) {
    return card(
      'Ask',
      html`<p>Only ${roleAndAbove(minimum_role)} can query this data source. You can configure it but not query it.</p>`,
    )
  }
  const steps = [
    { label: 'Create the database', isDone: ready, href: tabPath(id, 'database'), link: 'Database' },
    {
      label: 'Save a search configuration',
      isDone: connection_config !== null,
      href: tabPath(id, 'search'),
      link: 'Search',
    },
    {
      label: 'Turn it on and expose it to a role',
      isDone: enabled && exposed,
      href: tabPath(id, 'access'),
      link: 'Access',
    },
  ]
  const next = steps.find(({ isDone }) => !isDone)
  return card(
    'Before you can ask it',
    html`<ol class="steps">
        ${steps.map(
          ({ label, isDone, href, link }) =>
            html`<li class="step ${isDone && 'step-done'}">
              <span class="step-mark">${isDone && icon('check')}</span>
              <div><p class="step-label">${label}${isDone && html`<span class="unseen">, done</span>`}</p>
                ${!isDone && html`<p class="note">On the tab <a href="${href}">${link}</a>.</p>`}</div>
            </li>`,
        )}
      </ol>
      ${next && html`<div class="actions">${linkButton(next.href, `Open ${next.link}`)}</div>`}`,
  )
}
