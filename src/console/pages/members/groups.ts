/** Groups: members and machine agents who see the same rows of data sources with an access column. */
import { html } from 'hono/html'
import { createGroup, listGroups } from '../../../contracts/groups.ts'
import { emptyState, day, listCard } from '../../components.ts'
import { createRoutes, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { formCard, statusOf } from '../../forms.ts'
import { listOf } from '../../list-of.ts'
import { page } from '../../layout.ts'
import { groupPath, GROUPS_PATH } from './group.ts'

const GROUPS = listOf(listGroups, { search: { label: 'Name' } })
const CREATE = formOf(createGroup, ['name'])

export const groupListRoutes = () =>
  createRoutes()
    .get('/members/groups', (c) => showGroups(c))
    .post('/members/groups', create)

async function showGroups(c: PageContext, refused?: Refused) {
  requireRole(c, 'admin', 'Only owners and admins can see groups')
  const listed = await GROUPS.call(c, {})
  return page(c, {
    title: 'Groups',
    lead: 'Members and machine agents who see the same rows of a data source.',
    status: statusOf(refused?.problem),
    body: html`${listCard(c, {
      noun: 'groups',
      ...GROUPS.parts(c, listed),
      caption: 'Groups',
      columns: ['Group', 'Members', 'Created'],
      rows: listed.groups.map(({ id, name, members, created_at }) => [
        html`<a href="${groupPath(id)}"><bdi>${name}</bdi></a>`,
        String(members),
        day(created_at),
      ]),
      empty: emptyState('No groups yet', 'Rows of a data source can be limited to those who are in one.'),
    })}
    ${
      sessionOf(c).support === undefined &&
      formCard(c, {
        of: CREATE.show({ refused }),
        title: 'Create a group',
        action: GROUPS_PATH,
        submit: 'Create',
        className: 'beside',
      })
    }`,
  })
}

const create = submit(CREATE, {
  again: showGroups,
  done: ({ id, name }) => [groupPath(id), `${name} created.`],
})
