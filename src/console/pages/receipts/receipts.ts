/** Ending access with a receipt: rehearse it, do it, and see when no process wrote for it any more. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { rotateConnectionString } from '../../../contracts/databases.ts'
import { ENDED_KINDS } from '../../../contracts/endings.ts'
import { notFound } from '../../../contracts/errors.ts'
import { CUT_KINDS, RECEIPT_OF, type ReceiptOf } from '../../../contracts/receipt-format.ts'
import { endWithReceipt, listReceipts, showReceipt, type Receipt } from '../../../contracts/receipts.ts'
import { button, card, linkButton, notice } from '../../../pages/parts.ts'
import { badge, emptyState, exactTime, listCard, pair, time } from '../../components.ts'
import {
  createRoutes,
  hasRole,
  organizationOf,
  requireRole,
  sessionOf,
  type PageContext,
} from '../../context.ts'
import { act, routeInput } from '../../act.ts'
import { attempt, confirmDialog, form, statusOf, text } from '../../forms.ts'
import { refuse, type Refused } from '../../fields.ts'
import { listOf } from '../../list-of.ts'
import { outsidePage, page } from '../../layout.ts'
import { RECEIPTS_PATH } from './end-access-link.ts'

type Shown = z.output<typeof showReceipt.output>
type Listed = Omit<z.output<typeof Receipt>, 'signed' | 'signature' | 'keys'>

const RECEIPTS = listOf(listReceipts, {})

export const receiptRoutes = () =>
  createRoutes()
    .get('/receipts', showReceipts)
    .get('/receipts/end', (c) => showEnd(c))
    .post('/receipts/end', end)
    .get('/receipts/:receipt_id', showOne)
    .get('/receipts/:receipt_id/part', showPart)
    .get('/receipts/:receipt_id/receipt.json', download)
    .post('/receipts/:receipt_id/rotate', rotate)

const OF_LABELS: Record<ReceiptOf, string> = {
  agent: 'Agent',
  machine_agent: 'Machine agent',
  person: 'Member',
  client: 'Client',
  organization: 'Everything of the organization',
}

const OF_TEXTS: Record<ReceiptOf, string> = {
  agent: 'The assistant must be approved again to reconnect.',
  machine_agent: 'The machine agent is removed, with its credentials.',
  person: 'They leave the organization. Their tokens, agents and queued messages end with it.',
  client: 'The client is blocked, and all of its agents end.',
  organization:
    'All agents, API tokens, credentials, invitations, sessions and tokens of apps end. Members stay, and sign in again, also for their other organizations.',
}

async function showReceipts(c: PageContext) {
  requireRole(c, 'admin', 'Only owners and admins can see all receipts')
  const listed = await RECEIPTS.call(c, {})
  return page(c, {
    title: 'Receipts',
    lead: 'Signed proof that access has ended: of an agent, a member, a client, or everything of the organization.',
    body: listCard(c, {
      ...RECEIPTS.parts(c, listed),
      caption: 'Receipts',
      columns: ['Access of', 'Ended by', 'Ended', 'Status'],
      rows: listed.receipts.map((one) => [
        html`<a href="${RECEIPTS_PATH}/${one.id}"><bdi>${one.of.name}</bdi></a> <span class="note">${OF_LABELS[one.of.kind]}</span>`,
        one.by.name,
        time(one.began_at),
        stateBadge(one),
      ]),
      empty: emptyState(
        'No receipts yet',
        html`“End with receipt” stands on the page of each <a href="/console/agents?all=true">agent</a>, beside each
          <a href="/console/agents/clients">client</a>, and under “Manage” of each <a href="/console/members">member</a>.`,
      ),
    }),
  })
}

const stateBadge = ({ state, rehearsal }: Listed) => {
  if (rehearsal) return badge('Rehearsal', 'wait')
  return state === 'final' ? badge('Final', 'on') : badge('Pending', 'wait')
}

function asked(c: PageContext): { of: ReceiptOf; id?: string } {
  const given =
    c.req.method === 'GET'
      ? (name: string) => c.req.query(name) ?? ''
      : (name: string) => text(c.get('form'), name)
  const of = RECEIPT_OF.find((one) => one === given('of'))
  if (!of) throw notFound()
  const id = given('id')
  return { of, ...(of !== 'organization' && { id }) }
}

function showEnd(c: PageContext, refused?: Refused) {
  const { of, id } = asked(c)
  const fields = html`<input type="hidden" name="of" value="${of}" /><input type="hidden" name="id" value="${id ?? ''}" />`
  return page(c, {
    title: 'End access with a receipt',
    lead: OF_TEXTS[of],
    status: statusOf(refused?.problem),
    body: card(
      OF_LABELS[of],
      html`<p><code class="long">${id ?? organizationOf(c).name}</code></p>
        <p>What is open is cut off in all processes: calls, long polls, streams and questions. A signed receipt says how many, and when no process wrote for it any more.</p>
        <div class="actions">${form(c, `${RECEIPTS_PATH}/end`, html`${fields}<input type="hidden" name="dry_run" value="on" />${button('Rehearse', 'quiet')}`, '')}
        ${confirmDialog(c, {
          id: 'end-access',
          label: 'End access',
          title: 'End access now?',
          action: `${RECEIPTS_PATH}/end`,
          text: OF_TEXTS[of],
          fields,
          submit: 'End access now',
        })}</div>`,
    ),
  })
}

async function end(c: PageContext) {
  const dry_run = text(c.get('form'), 'dry_run') === 'on'
  const result = await attempt(() => sessionOf(c).call(endWithReceipt, { ...asked(c), dry_run }))
  if ('problem' in result) return showEnd(c, refuse(c, result.problem))
  return c.redirect(`${RECEIPTS_PATH}/${result.done.id}`, 303)
}

const receiptOf = (c: PageContext): Promise<Shown> =>
  sessionOf(c).call(showReceipt, routeInput(c, showReceipt))

async function showOne(c: PageContext) {
  const receipt = await receiptOf(c)
  const { of, rehearsal } = receipt
  return page(c, {
    title: rehearsal ? `Rehearsal: ${of.name}` : of.name,
    lead: rehearsal ? 'Nothing was ended. This is what would end.' : 'Access has ended.',
    actions:
      receipt.state === 'final' &&
      linkButton(`${RECEIPTS_PATH}/${receipt.id}/receipt.json`, 'Download', 'quiet'),
    body: html`
      <div data-refresh="${RECEIPTS_PATH}/${receipt.id}/part">${receiptPart(receipt)}</div>
      ${receipt.remains.length > 0 && remainsCard(c, receipt)}
      <p class="note">Verify the download offline: <code>svc audit verify receipt.json</code></p>
    `,
  })
}

/** The script asks for it again until it is final. */
const showPart = async (c: PageContext) => c.html(receiptPart(await receiptOf(c)))

const receiptPart = (receipt: Shown) => {
  const { of, by, state } = receipt
  const isFinal = state === 'final'
  return html`
        ${
          isFinal
            ? html`<div data-final></div>`
            : notice(
                'info',
                html`<p><strong>Pending.</strong> ${receipt.processes.waiting_for} processes have not acknowledged it yet.</p>`,
              )
        }
        ${card(
          'Receipt',
          html`<dl class="pairs">
            ${pair('Access of', html`${OF_LABELS[of.kind]} <code class="long">${of.id}</code>`)}
            ${pair('Ended by', by.name)} ${pair('At', exactTime(receipt.began_at))}
            ${pair('No byte after', receipt.final_at === null ? 'Pending' : html`<code>${receipt.final_at}</code>`)}
            ${pair('What ended', counts(receipt.ended, KINDS))} ${pair('Cut off', counts(receipt.cut, CUT_KINDS))}
            ${pair('Processes', `${receipt.processes.acknowledged} acknowledged it`)}
            ${pair('Receipt', html`<code>${receipt.id}</code>`)}
          </dl>`,
        )}
      `
}

const KINDS: Readonly<Record<string, string>> = { ...ENDED_KINDS, personal_message: 'queued message' }

const counts = (of: Readonly<Record<string, number>>, words: Readonly<Record<string, string>>): string =>
  Object.entries(of)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${words[kind] ?? kind}`)
    .join(', ') || 'Nothing'

const remainsCard = (c: PageContext, { id, remains }: Shown) =>
  card(
    'What it cannot end',
    html`<p>These connection strings were read. Whoever kept one can use it until it is rotated.</p>
      <ul>
        ${remains.map(
          (one) =>
            html`<li><code>${one.connection_string}</code>, read by ${one.read_by} ${time(one.read_at)} ${
              hasRole(sessionOf(c), 'admin') &&
              form(
                c,
                `${RECEIPTS_PATH}/${id}/rotate`,
                html`<input type="hidden" name="name" value="${one.connection_string.replace(/^db_/, '')}" />
                  ${button(html`Rotate<span class="unseen"> ${one.connection_string}</span>`, 'quiet')}`,
                '',
              )
            }</li>`,
        )}
      </ul>`,
  )

const rotate = act(rotateConnectionString, {
  input: ['name'],
  back: (c) => `${RECEIPTS_PATH}/${routeInput(c, showReceipt).receipt_id}`,
  done: 'Connection string rotated.',
})

/** Of an organization that is removed: nothing of it can be opened any more, so the page has the file, too. */
export const showRemoved = (c: PageContext, receipt: Shown) =>
  outsidePage(c, {
    title: `${receipt.of.name} is removed`,
    lead: 'Keep the receipt: this page does not come again.',
    body: html`
      ${receiptPart(receipt)}
      ${
        receipt.state === 'final'
          ? html`<p><a class="button button-main" download="receipt-${receipt.id}.json" href="data:application/json;base64,${Buffer.from(asFile(receipt)).toString('base64')}">Download receipt</a></p>
              <p class="note">Verify it offline: <code>svc audit verify receipt.json</code></p>`
          : html`<p>The operator of this service fetches it when it is final. They need these two: the name, and <code>${receipt.of.id}</code></p>`
      }
      <p>${linkButton('/console', 'Continue', 'quiet')}</p>
    `,
  })

/** As `svc audit verify` reads it. */
const asFile = (receipt: Shown): string => JSON.stringify(receipt, null, 2)

async function download(c: PageContext) {
  const receipt = await receiptOf(c)
  return c.body(asFile(receipt), 200, {
    'content-type': 'application/json',
    'content-disposition': `attachment; filename="receipt-${receipt.id}.json"`,
    'cache-control': 'no-store',
  })
}
