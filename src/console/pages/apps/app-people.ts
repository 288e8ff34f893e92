/** The people of an app: who builds and who maintains it. */
import { html } from 'hono/html'
import { removeAppMember, setAppMember } from '../../../contracts/apps.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listMembers } from '../../../contracts/members.ts'
import { button, inputField } from '../../../pages/parts.ts'
import { addressForm, day, dialog, emptyState, listCard, memberOptions, person } from '../../components.ts'
import { act } from '../../act.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { formOf } from '../../fields.ts'
import { form } from '../../forms.ts'
import { appPath, canManage, partLabel, PART_OPTIONS } from './app-labels.ts'
import { serviceAccountsCard } from './app-service-accounts.ts'
import { aliasOf, appPage, readApp, tabPath, type App } from './app-tabs.ts'

const PART = formOf(setAppMember, ['user_id', 'role'], {
  user_id: { label: 'Person' },
  role: { options: PART_OPTIONS },
})

export const appPeopleRoutes = () =>
  createRoutes()
    .get('/apps/:alias/people', showPeople)
    .post('/apps/:alias/members', setRole)
    .post('/apps/:alias/members/:user_id', setRole)
    .post('/apps/:alias/members/:user_id/remove', remove)

async function showPeople(c: PageContext) {
  const app = await readApp(c)
  return appPage(c, app, 'people', {
    body: html`${await peopleList(c, app)} ${await serviceAccountsCard(c, app)}`,
  })
}

async function peopleList(c: PageContext, app: App) {
  const mayManage = canManage(app.my_role)
  return listCard(c, {
    caption: 'Builders and maintainers',
    columns: ['Person', 'Added', '(Actions)'],
    rows: app.members.map((member) => [
      person(member.name, partLabel(member.role)),
      day(member.added_at),
      html`<div class="row-actions">${memberActions(c, app, member, mayManage)}</div>`,
    ]),
    empty: emptyState('No people yet', 'Owners and admins can manage every app.'),
    after: mayManage && (await addPerson(c, app)),
  })
}

function memberActions(c: PageContext, app: App, member: App['members'][number], mayManage: boolean) {
  const isMe = member.user_id === sessionOf(c).me.user.id
  if (!mayManage && !isMe) return null
  const path = `${appPath(app.alias)}/members/${member.user_id}`
  return dialog(
    `manage-${member.user_id}`,
    mayManage ? 'Manage' : 'Leave',
    {
      title: member.name,
      content: html`${
        mayManage &&
        form(
          c,
          path,
          html`${PART.show({ now: member }).field('role', { id: `role-${member.user_id}` })}
          ${button('Save')}`,
        )
      }
      <div class="window-danger">${form(c, `${path}/remove`, button(isMe ? 'Leave app' : 'Remove from app', 'danger'), '')}</div>`,
    },
    mayManage ? `Manage ${member.name}` : `Leave ${app.name}`,
  )
}

/** Members of the organization who are not on the app yet; with a search field where there are many. */
async function addPerson(c: PageContext, app: App) {
  const search = c.req.method === 'GET' ? c.req.query('person')?.trim().slice(0, 120) || undefined : undefined
  const { members, next_cursor } = await sessionOf(c).call(listMembers, {
    org_id: organizationOf(c).id,
    search,
    limit: PAGE_MAX,
  })
  const others = members.filter(({ user_id }) => !app.members.some((member) => member.user_id === user_id))
  const isLong = next_cursor !== undefined || search !== undefined
  return html`${
    isLong &&
    addressForm(
      c,
      'Search members',
      inputField({
        name: 'person',
        label: 'Search by name or email',
        type: 'search',
        value: search ?? '',
        maxlength: 120,
      }),
    )
  }
  ${
    others.length === 0
      ? html`<p class="note">${search === undefined ? 'All members of the organization have been added.' : 'No matching members.'}</p>`
      : form(
          c,
          `${appPath(app.alias)}/members`,
          html`${PART.show().field('user_id', { options: memberOptions(others) })}
          ${PART.show().field('role', { id: 'new-role' })}
          ${button('Add to app')}`,
          'inline',
        )
  }`
}

const backToPeople = (c: PageContext): string => tabPath(aliasOf(c), 'people')

/** Of somebody in the address, or of somebody who is added. */
const setRole = act(setAppMember, {
  input: PART.read,
  back: backToPeople,
  done: (_, { role }) => `Role set to ${partLabel(role)}.`,
})

const remove = act(removeAppMember, { back: backToPeople, done: 'Removed from the app.' })
