/** Choosing and creating organizations. */
import { html } from 'hono/html'
import {
  switchOrganization,
  createOrganization,
  listOrganizations,
} from '../../../contracts/organizations.ts'
import { formOf, refuse, type Refused } from '../../fields.ts'
import { attempt, personalForm, statusOf, text, formCard } from '../../forms.ts'
import { redirectWithMessage } from '../../flash.ts'
import { page } from '../../layout.ts'
import { badge, day, emptyState, roleBadge, table } from '../../components.ts'
import { pager } from '../../pager.ts'
import { linkButton } from '../../../pages/parts.ts'
import { forgetSupportSession } from '../../support-session.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { mySupportSessions } from '../settings/support-sessions.ts'

const NEW_ORGANIZATION = formOf(createOrganization, ['name'], {
  name: { autocomplete: 'organization', hint: 'You can change it later.' },
})

export const organizationRoutes = () =>
  createRoutes()
    .post('/organization', choose)
    .get('/organizations', showOrganizations)
    .get('/organizations/new', (c) => showNew(c))
    .post('/organizations/new', create)

async function choose(c: PageContext) {
  await sessionOf(c).call(switchOrganization, { org_id: text(c.get('form'), 'org_id') })
  forgetSupportSession(c)
  return c.redirect('/console', 303)
}

async function showOrganizations(c: PageContext) {
  const session = sessionOf(c)
  const { organizations, next_cursor } = await session.call(listOrganizations, {
    cursor: c.req.query('cursor'),
  })
  return page(c, {
    title: 'Your organizations',
    lead: 'Choose the organization to work in.',
    actions: linkButton('/console/organizations/new', 'New organization'),
    body: html`${
      organizations.length === 0
        ? emptyState('No organizations yet', 'Create one, or open an invitation link you received.')
        : html`<div class="card card-list">
            ${table(
              'Your organizations',
              ['Name', 'Your role', 'Created', '(Actions)'],
              organizations.map(({ id, name, slug, role, created_at }) => [
                html`<div class="two-lines"><strong>${name}</strong><span class="note">${slug}</span></div>`,
                roleBadge(role),
                day(created_at),
                html`<div class="row-actions">
                  ${
                    id === session.organization?.id
                      ? badge('Current', 'on')
                      : personalForm(
                          c,
                          '/console/organization',
                          html`<button type="submit" name="org_id" value="${id}" class="button button-quiet button-small" aria-label="Switch to ${name}">Switch</button>`,
                          '',
                        )
                  }
                </div>`,
              ]),
            )}
            ${pager(c, organizations.length, { next_cursor })}
          </div>`
    }
    ${await mySupportSessions(c)}`,
  })
}

const showNew = (c: PageContext, refused?: Refused) =>
  page(c, {
    title: 'New organization',
    lead: 'You become its owner and can invite others.',
    status: statusOf(refused?.problem),
    body: formCard(c, {
      of: NEW_ORGANIZATION.show({ refused }),
      action: '/console/organizations/new',
      submit: 'Create organization',
      isPersonal: true,
    }),
  })

async function create(c: PageContext) {
  const { call } = sessionOf(c)
  const result = await attempt(async () => {
    const made = await call(createOrganization, NEW_ORGANIZATION.read(c.get('form')))
    await call(switchOrganization, { org_id: made.id })
    return made
  })
  if ('problem' in result) return showNew(c, refuse(c, result.problem))
  forgetSupportSession(c)
  return redirectWithMessage(c, '/console', `${result.done.name} created.`)
}
