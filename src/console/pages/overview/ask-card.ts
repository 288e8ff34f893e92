/** A question to every data source that the reader may query; the answer is on the search page. */
import { html } from 'hono/html'
import { QUESTION_MAX_CHARACTERS } from '../../../contracts/limits.ts'
import { SAMPLE_QUESTION } from '../../../contracts/sample.ts'
import { button, card, inputField } from '../../../pages/parts.ts'
import type { PageContext } from '../../context.ts'
import { form } from '../../forms.ts'
import { SOURCES_PATH } from '../data-sources/source-labels.ts'
import type { Facts } from './facts.ts'

/** Where the sample is, a question that it answers is filled in: one click, and there is an answer. */
export const askCard = (c: PageContext, { canAsk, hasSample }: Facts['sources']) =>
  canAsk &&
  card(
    'Ask your data',
    form(
      c,
      `${SOURCES_PATH}/search#answer`,
      html`${inputField({
        name: 'query',
        label: 'Question',
        value: hasSample ? SAMPLE_QUESTION : '',
        placeholder: 'What would you like to know?',
        required: true,
        maxlength: QUESTION_MAX_CHARACTERS,
        autocomplete: 'off',
      })}
      ${button('Ask')}`,
      'ask',
    ),
  )
