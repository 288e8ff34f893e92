/** One question to every data source that the user may query. */
import { html } from 'hono/html'
import { searchDataSources } from '../../../contracts/data-sources.ts'
import { unavailableText, type UnavailableSource } from '../../../contracts/unavailable-sources.ts'
import { button, card, notice, problemNotice } from '../../../pages/parts.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { formOf, type Refused } from '../../fields.ts'
import { attempt, form, statusOf } from '../../forms.ts'
import { page } from '../../layout.ts'
import { withAdvice } from './query-form.ts'
import { queryResults, type Answer } from './query-results.ts'
import { SOURCES_PATH } from './source-labels.ts'

/** Shown again with its results or its problem; stored nowhere. */
type Search = Refused & {
  readonly answer?: Answer & { readonly unavailable?: readonly UnavailableSource[] | undefined }
}

const QUESTION = formOf(searchDataSources, ['query'])

export const searchAllRoutes = () =>
  createRoutes()
    .get('/data-sources/search', (c) => show(c))
    .post('/data-sources/search', async (c) => show(c, await search(c)))

async function search(c: PageContext): Promise<Search> {
  const form = c.get('form')
  const started = performance.now()
  const result = await attempt(() => sessionOf(c).call(searchDataSources, QUESTION.read(form)))
  return 'problem' in result
    ? { form, problem: withAdvice(result.problem) }
    : { form, answer: { ...result.done, ms: Math.round(performance.now() - started) } }
}

const show = (c: PageContext, searched?: Search) =>
  page(c, {
    title: 'Search all data sources',
    lead: `Every data source you can query in ${organizationOf(c).name}, in one question.`,
    status: statusOf(searched?.problem),
    body: card(
      'Search',
      html`${problemNotice(searched?.problem, ['query'])}
        ${form(
          c,
          `${SOURCES_PATH}/search#answer`,
          html`${QUESTION.show({ refused: searched }).all()} ${button('Search')}`,
        )}
        ${searched?.answer?.unavailable && notice('info', html`<p>${unavailableText(searched.answer.unavailable)}</p>`)}
        ${searched?.answer && queryResults(searched.answer)}`,
    ),
  })
