/** The page that a hit links to: one row, or one passage with what stands around it. Its rights are asked anew. */
import { html } from 'hono/html'
import { fetchDataSourceRow, type Hit } from '../../../contracts/data-sources.ts'
import { notFound, ServiceError } from '../../../contracts/errors.ts'
import { card, linkButton, notice } from '../../../pages/parts.ts'
import { exactTime, pair } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { page } from '../../layout.ts'
import { columnsOf, pairsOf } from './query-results.ts'
import { pathOf, sourceIdFrom } from './source-labels.ts'

export const sourceRowRoutes = () => createRoutes().get('/data-sources/:source_id/rows/:handle', show)

async function show(c: PageContext) {
  organizationOf(c)
  const source_id = sourceIdFrom(c)
  const handle = c.req.param('handle')!
  const document = c.req.query('document') === 'true'
  const { hit, truncated } = await fetchRow(c, { source_id, handle, document })
  const { metadata, passages } = hit
  const path = `${pathOf(source_id)}/rows/${encodeURIComponent(handle)}`
  return page(c, {
    title: hit.title ?? hit.id,
    parents: [{ href: pathOf(source_id), label: source_id }],
    lead:
      passages && typeof metadata['path'] === 'string' ? html`<code>${metadata['path']}</code>` : undefined,
    actions: isElsewhere(c, hit) ? linkButton(hit.url!, 'Open the original', 'quiet') : undefined,
    body: html`${truncated !== undefined && notice('info', html`<p>${truncated}</p>`)}
      ${passages ? passagesCard(hit, passages, document ? undefined : `${path}?document=true`) : rowCard(hit)}
      ${card(
        'Where it comes from',
        html`<dl class="pairs">
        ${hit.as_of && pair(passages ? 'Published' : 'Read', exactTime(hit.as_of))}
        ${hit.digest && pair(passages ? 'SHA-256 of the file' : 'SHA-256 of the row', html`<code class="value">${hit.digest}</code>`)}
      </dl>`,
      )}`,
  })
}

/** A link that was changed is not found, like one to a row that is gone or that may not be seen. */
async function fetchRow(c: PageContext, input: { source_id: string; handle: string; document: boolean }) {
  const read = fetchDataSourceRow.input.safeParse(input)
  if (!read.success) throw notFound()
  try {
    return await sessionOf(c).call(fetchDataSourceRow, read.data)
  } catch (error) {
    throw error instanceof ServiceError && error.code === 'INVALID_REQUEST' ? notFound() : error
  }
}

const isElsewhere = (c: PageContext, { url }: Hit): boolean =>
  url !== undefined && URL.parse(url)?.origin !== c.var.deps.appUrl.origin

const rowCard = (hit: Hit) =>
  card('Row', pairsOf([[hit.title === null ? 'id' : 'ID', hit.id], ...columnsOf(hit)]))

function passagesCard(hit: Hit, passages: NonNullable<Hit['passages']>, wholePath: string | undefined) {
  let before = ''
  return card(
    wholePath === undefined ? 'Document' : 'Passage',
    html`<div class="passages">${passages.map((one) => {
      const heading = one.heading === before ? '' : one.heading
      before = one.heading
      return html`${heading && html`<h3>${heading}</h3>`}
        <p class="passage ${one.id === hit.id && 'passage-found'}" ${one.id === hit.id && html`id="found" aria-current="true"`}>${one.passage}</p>`
    })}</div>
    ${wholePath !== undefined && html`<div class="actions">${linkButton(wholePath, 'Show the document', 'quiet')}</div>`}`,
  )
}
