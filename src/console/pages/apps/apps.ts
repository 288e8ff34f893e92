/** The list of apps, and creating one. */
import { html } from 'hono/html'
import { createApp, listApps } from '../../../contracts/apps.ts'
import { selectField } from '../../../pages/parts.ts'
import { formOf, submit, type Refused } from '../../fields.ts'
import { listOf } from '../../list-of.ts'
import { formCard, statusOf } from '../../forms.ts'
import { page } from '../../layout.ts'
import { day, emptyState, listCard } from '../../components.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { appPath, APPS_PATH, partBadge } from './app-labels.ts'

const APPS = listOf(listApps, { search: { label: 'Alias or name' } })
const NEW_APP = formOf(createApp, ['alias', 'name'])

export const appListRoutes = () =>
  createRoutes()
    .get('/apps', (c) => showApps(c))
    .post('/apps', create)

async function showApps(c: PageContext, refused?: Refused) {
  const organization = organizationOf(c)
  const session = sessionOf(c)
  const query = c.req.method === 'GET' ? c.req.query() : {}
  const mine = query['mine'] === 'true'
  const listed = await APPS.call(c, { mine: String(mine) })
  const parts = APPS.parts(c, listed)
  const isFiltered = APPS.isFiltered(c) || mine || query['cursor'] !== undefined
  const mayCreate = hasRole(session, 'developer')
  return page(c, {
    title: 'Apps',
    lead: `Apps of ${organization.name}, the people who work on them, and their tickets.`,
    status: statusOf(refused?.problem),
    body: html`${listCard(c, {
      ...parts,
      label: 'Filter apps',
      filters: html`${parts.filters}
        ${selectField({
          name: 'mine',
          label: 'Show',
          value: String(mine),
          options: [
            { value: 'false', label: 'All apps' },
            { value: 'true', label: 'Apps I build or maintain' },
          ],
        })}`,
      caption: 'Apps, by alias',
      columns: ['App', 'Your role', 'Open tickets', 'Created'],
      rows: listed.apps.map(({ alias, name, my_role, open_tickets, created_at }) => [
        html`<div class="two-lines"><a class="subject" href="${appPath(alias)}">${name}</a><code class="note">${alias}</code></div>`,
        partBadge(my_role) ?? html`<span class="note">None</span>`,
        open_tickets === 0 ? html`<span class="note">None</span>` : html`${open_tickets}`,
        day(created_at),
      ]),
      empty: isFiltered
        ? emptyState('No matching apps', 'Try a different search.', html`<a href="${APPS_PATH}">Show all</a>`)
        : emptyState(
            'No apps yet',
            mayCreate
              ? 'An app has an alias, builders and maintainers, and tickets. Create the first one below.'
              : 'Apps created by developers are listed here.',
          ),
    })}
    ${mayCreate && formCard(c, { of: NEW_APP.show({ refused }), title: 'New app', lead: 'You become its maintainer.', action: APPS_PATH, submit: 'Create app' })}`,
  })
}

const create = (c: PageContext) =>
  submit(c, NEW_APP, {
    again: showApps,
    done: ({ alias, name }) => [appPath(alias), `${name} created.`],
  })
