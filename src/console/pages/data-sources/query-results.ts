/** The results of a query. Every value is untrusted text. */
import { html } from 'hono/html'
import type { Hit, QueryResult } from '../../../contracts/data-sources.ts'
import { markWords } from '../../../contracts/matched-words.ts'
import { notice } from '../../../pages/parts.ts'
import { badge, emptyState, exactTime } from '../../components.ts'
import { plural, formatDuration } from '../../format.ts'

export type Answer = QueryResult & { readonly ms: number }

export function queryResults({ count, results, weak, truncated, ms }: Answer) {
  const best = Math.max(0, ...results.map(({ metadata }) => scoreOf(metadata) ?? 0))
  return html`<section class="answer" id="answer" aria-labelledby="answer-title">
    <h3 id="answer-title">${plural(count, 'hit')} in ${formatDuration(ms)}</h3>
    ${weak && notice('info', html`<p><strong>A weak answer.</strong> No hit reaches the threshold: probably none of them answers the question.</p>`)}
    ${truncated !== undefined && notice('info', html`<p><strong>The response was truncated.</strong> ${truncated}</p>`)}
    ${
      results.length === 0
        ? emptyState('No results', 'No rows match. Use fewer filters or search everywhere.')
        : html`<ol class="hits">${results.map((hit) => html`<li class="hit">${hitCard(hit, best)}</li>`)}</ol>`
    }
  </section>`
}

function hitCard(hit: Hit, best: number) {
  const { id, title, url, metadata } = hit
  const score = scoreOf(metadata)
  // The id of a hit among many sources is a handle for programs.
  const isSigned = typeof metadata['_source'] === 'string'
  const { heading, passage } = metadata
  const isPassage = typeof heading === 'string' && typeof passage === 'string' && hit.matched !== undefined
  const name = title ?? (isSigned ? 'Open' : id)
  return html`<div class="hit-head">
      <div class="two-lines"><strong>${url === undefined ? name : html`<a href="${url}">${name}</a>`}</strong>${
        isPassage
          ? html`<span class="note">${heading}</span>`
          : title !== null && !isSigned && html`<code class="note">${id}</code>`
      }</div>
      <div class="hit-marks">
        ${score !== undefined && scoreBar(score, best)}
        ${typeof metadata['_source'] === 'string' && badge(metadata['_source'], 'off')}
        ${typeof metadata['_target'] === 'string' && badge(metadata['_target'], 'off')}
        ${modeOf(metadata) && badge(modeOf(metadata), 'on')}
      </div>
    </div>
    ${isPassage ? passageOf(hit, passage) : pairsOf(columnsOf(hit))}`
}

/** With the words of the question marked, and what else of its document was found. */
const passageOf = ({ matched = [], metadata, passages = [], as_of }: Hit, passage: string) =>
  html`<p class="passage">${marked(passage, matched)}</p>
    ${
      passages.length > 0 &&
      html`<ul class="further">${passages.map((one) => html`<li>${one.url === undefined ? one.heading : html`<a href="${one.url}">${one.heading}</a>`}: ${marked(one.passage, matched)}</li>`)}</ul>`
    }
    <p class="note">${typeof metadata['path'] === 'string' && html`<code>${metadata['path']}</code>`}${as_of !== undefined && html`, as of ${exactTime(as_of)}`}</p>`

const marked = (text: string, words: readonly string[]) =>
  markWords(text, words).map((part) => (part.isMatch ? html`<mark>${part.text}</mark>` : html`${part.text}`))

export const columnsOf = ({ metadata }: Hit): [string, unknown][] =>
  Object.entries(metadata).filter(([name]) => !SEARCH_FIELDS.has(name))

export const pairsOf = (columns: readonly (readonly [string, unknown])[]) =>
  columns.length > 0 &&
  html`<dl class="pairs">${columns.map(([name, value]) => html`<div><dt>${name}</dt><dd>${valueCell(value)}</dd></div>`)}</dl>`

/** What search itself adds to a hit; the handle is for programs. */
const SEARCH_FIELDS = new Set(['_score', '_source', '_target', '_mode', '_found_by', '_handle'])

/** `hybrid: meaning, words`: which of both found it. */
function modeOf({ _mode, _found_by }: Hit['metadata']): string {
  if (typeof _mode !== 'string') return ''
  return Array.isArray(_found_by) ? `${_mode}: ${_found_by.join(', ')}` : _mode
}

const scoreOf = (metadata: Hit['metadata']): number | undefined =>
  typeof metadata['_score'] === 'number' ? metadata['_score'] : undefined

/** Scores of different metrics have different scales, so the bar compares with the best hit of this answer. */
function scoreBar(score: number, best: number) {
  const share = best > 0 ? Math.min(1, Math.max(0, score / best)) : 0
  return html`<span class="score"><span class="note">score ${Number(score.toFixed(4))}</span>
    <svg width="56" height="6" aria-hidden="true"><rect class="score-ground" width="56" height="6" rx="3" /><rect class="score-share" width="${Number((share * 56).toFixed(1))}" height="6" rx="3" /></svg></span>`
}

/** A value longer than about three lines is collapsed. */
const COLLAPSE_ABOVE_CHARACTERS = 240
const SUMMARY_CHARACTERS = 160

function valueCell(value: unknown) {
  if (value === null || value === undefined) return html`<span class="note">None</span>`
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length <= COLLAPSE_ABOVE_CHARACTERS) return html`<span class="value">${text}</span>`
  return html`<details class="value-long">
    <summary>${text.slice(0, SUMMARY_CHARACTERS)}… <span class="note">all ${text.length} characters</span></summary>
    <div class="value">${text}</div>
  </details>`
}
