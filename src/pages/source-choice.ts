/** All data sources or only some: used on the consent page and the connected-agents page. */
import { html } from 'hono/html'
import { choice, type Content } from './parts.ts'

type SourceChoice = {
  legend: Content
  /** Names of the fields: which of the two, and one source. */
  fields: { which: string; source: string }
  /** The label for all of them. */
  all: string
  sources: readonly { id: string; name: string; note: Content }[]
  isLimited: boolean
  isTicked: (id: string) => boolean
  className?: string
  note?: Content
}

/** CSS hides the list until "Only selected" is chosen, because the page has no script. */
export const sourceChoice = ({
  legend,
  fields,
  all,
  sources,
  isLimited,
  isTicked,
  className,
  note,
}: SourceChoice) =>
  html`<fieldset class="source-choice ${className}">
    <legend>${legend}</legend>
    ${note}
    ${choice('radio', fields.which, 'all', !isLimited, all)}
    ${choice('radio', fields.which, 'chosen', isLimited, 'Only selected')}
    ${sourceBoxes(fields.source, sources, isTicked)}
  </fieldset>`

export const sourceBoxes = (
  field: string,
  sources: SourceChoice['sources'],
  isTicked: SourceChoice['isTicked'],
) =>
  html`<div class="source-list" role="group" aria-label="Data sources">
    ${sources.map(({ id, name, note }) => choice('checkbox', field, id, isTicked(id), name, note))}
  </div>`
