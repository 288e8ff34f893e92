/** Identity provider > People: which subject of the provider is which member. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { linkIdentity, listIdentityLinks, unlinkIdentity } from '../../../contracts/identity-provider.ts'
import { day, emptyState, listCard, time } from '../../components.ts'
import { act, submit } from '../../act.ts'
import { createRoutes, type PageContext } from '../../context.ts'
import { formOf, type Refused } from '../../fields.ts'
import { listOf } from '../../list-of.ts'
import { confirmDialog, formCard, returnPath, statusOf, text } from '../../forms.ts'
import { findMember, memberField } from '../../member-field.ts'
import { IDENTITY_PROVIDER } from '../../navigation.ts'
import { ORIGIN_LABELS } from './provider-labels.ts'
import { mayChange, notOnNotice, providerPage, requireProvider } from './provider-page.ts'

type Link = z.output<typeof listIdentityLinks.output>['links'][number]
const LINKS = listOf(listIdentityLinks, { search: { label: 'Subject, name or email' } })
const LINK = formOf(linkIdentity, ['subject'])

const PATH = `${IDENTITY_PROVIDER}/people`

export const providerPeopleRoutes = () =>
  createRoutes()
    .get('/identity-provider/people', (c) => showPeople(c))
    .post('/identity-provider/people', link)
    .post('/identity-provider/people/:link_id/unlink', unlink)

async function showPeople(c: PageContext, refused?: Refused) {
  const provider = await requireProvider(c)
  const listed = await LINKS.call(c, {})
  return providerPage(c, 'People', {
    lead: html`Which member each subject of <bdi>${provider.name}</bdi> is. <a href="${IDENTITY_PROVIDER}">How people are linked</a>`,
    status: statusOf(refused?.problem),
    body: html`${notOnNotice(provider)}
    ${listCard(c, {
      noun: 'people',
      ...LINKS.parts(c, listed),
      caption: 'Linked people',
      columns: ['Subject', 'Member', 'Linked', 'Last used', '(Actions)'],
      rows: listed.links.map((one) => linkRow(c, one)),
      empty: emptyState(
        'Nobody is linked yet',
        provider.linking === 'admin'
          ? 'Link people here: nobody is linked by connecting.'
          : 'People are linked when they first connect, or by you.',
      ),
    })}
    ${mayChange(c) && (await linkCard(c, refused))}`,
  })
}

const linkRow = (c: PageContext, link: Link) => [
  html`<code title="${link.subject}">${link.subject}</code>`,
  html`<span title="${link.user.email}">${link.user.name}</span>`,
  html`${day(link.created_at)} <span class="note">${ORIGIN_LABELS[link.linked_by]}</span>`,
  link.last_used_at ? time(link.last_used_at) : html`<span class="note">Never</span>`,
  html`<div class="row-actions">${
    mayChange(c) &&
    confirmDialog(c, {
      label: 'Unlink',
      name: `Unlink ${link.user.name}`,
      title: `Unlink ${link.user.name}?`,
      action: `${PATH}/${link.id}/unlink`,
      text: html`<span class="long">Agents that connected as <code>${link.subject}</code> lose access on their next call. ${link.user.name} stays a member.</span>`,
    })
  }</div>`,
]

const linkCard = async (c: PageContext, refused: Refused | undefined) =>
  formCard(c, {
    of: LINK.show({ refused }),
    shown: ['subject', 'member'],
    title: 'Link somebody',
    lead: 'The subject is what sub of their assertions is. The role of the member must not be above yours.',
    action: PATH,
    fields: html`${LINK.show({ refused }).all()} ${await memberField(c, { name: 'member', label: 'Member', refused })}`,
    submit: 'Link',
    className: 'inline',
  })

const link = submit(LINK, {
  input: async (sent, c) => {
    const { user_id } = await findMember(c, 'member', text(sent, 'member'))
    return { user_id }
  },
  again: showPeople,
  done: ({ user }) => [PATH, `${user.name} linked.`],
})

const unlink = act(unlinkIdentity, { back: (c) => returnPath(c, PATH), done: 'Unlinked.' })
