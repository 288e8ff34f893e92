/** Streams: where the organization has its trail sent to, and how far each is. */
import { html } from 'hono/html'
import { createTrailStream, listTrailStreams, removeTrailStream } from '../../../contracts/trail.ts'
import { button } from '../../../pages/parts.ts'
import { emptyState, listCard, time } from '../../components.ts'
import { createRoutes, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { act, submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { form, formCard, statusOf } from '../../forms.ts'
import { listOf } from '../../list-of.ts'
import { page } from '../../layout.ts'

const PATH = '/console/audit/streams'
const STREAMS = listOf(listTrailStreams, {})
const CREATE = formOf(createTrailStream, ['kind', 'url', 'authorization'])
const KINDS = { webhook: 'Webhook', otlp: 'OTLP logs' } as const

export const trailStreamRoutes = () =>
  createRoutes()
    .get('/audit/streams', (c) => showStreams(c))
    .post('/audit/streams', create)
    .post('/audit/streams/:stream_id/remove', remove)

async function showStreams(c: PageContext, refused?: Refused) {
  requireRole(c, 'owner', 'Only owners can send the trail on')
  const listed = await STREAMS.call(c, {})
  return page(c, {
    title: 'Streams',
    lead: 'Audit trail and activity as OCSF events, sent to your SIEM about a minute after they happen.',
    status: statusOf(refused?.problem),
    body: html`${listCard(c, {
      ...STREAMS.parts(c, listed),
      caption: 'Streams',
      columns: ['To', 'Sent up to row', 'Last sent', 'Problem', ''],
      rows: listed.trail_streams.map(({ id, kind, host, sent_to, sent_at, problem }) => [
        html`${KINDS[kind]} at <bdi>${host}</bdi>`,
        String(sent_to),
        sent_at === null ? html`<span class="note">Never</span>` : time(sent_at),
        problem ?? html`<span class="note">None</span>`,
        form(
          c,
          `${PATH}/${id}/remove`,
          button(html`Remove<span class="unseen"> ${host}</span>`, 'quiet'),
          '',
        ),
      ]),
      empty: emptyState('No streams yet', 'Programs can also read the trail from the API.'),
    })}
    ${
      sessionOf(c).support === undefined &&
      formCard(c, { of: CREATE.show({ refused }), title: 'Add a stream', action: PATH, submit: 'Add' })
    }`,
  })
}

const create = submit(CREATE, {
  again: showStreams,
  done: ({ host }) => [PATH, `The trail is sent to ${host}.`],
})

const remove = act(removeTrailStream, { back: PATH, done: 'Stream removed.' })
