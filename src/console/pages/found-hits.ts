/** The answer to a question, hit by hit. Every value is foreign text. */
import { html } from 'hono/html'
import type { Hit, QueryResult } from '../../contracts/data-sources.ts'
import { notice } from '../../pages/parts.ts'
import { badge, emptyState } from '../parts.ts'
import { duration } from './measures.ts'

export type Answer = QueryResult & { readonly ms: number }

export function foundHits({ count, results, truncated, ms }: Answer) {
  const best = Math.max(0, ...results.map(({ metadata }) => scoreOf(metadata) ?? 0))
  return html`<section class="answer" id="answer" aria-labelledby="answer-title">
    <h3 id="answer-title">${count === 1 ? '1 hit' : `${count} hits`} in ${duration(ms)}</h3>
    ${truncated !== undefined && notice('info', html`<p><strong>The answer was shortened.</strong> ${truncated}</p>`)}
    ${
      results.length === 0
        ? emptyState('Nothing was found', 'No row passes the filters. Loosen one, or search in everything.')
        : html`<ol class="hits">${results.map((hit) => html`<li class="hit">${hitCard(hit, best)}</li>`)}</ol>`
    }
  </section>`
}

function hitCard({ id, title, metadata }: Hit, best: number) {
  const score = scoreOf(metadata)
  const columns = Object.entries(metadata).filter(([name]) => !OWN.has(name))
  return html`<div class="hit-head">
      <div class="two-lines">${title !== null && html`<strong>${title}</strong>`}<code class="${title === null ? 'subject' : 'note'}">${id}</code></div>
      <div class="hit-marks">
        ${score !== undefined && scoreBar(score, best)}
        ${typeof metadata['_target'] === 'string' && badge(metadata['_target'], 'off')}
        ${typeof metadata['_mode'] === 'string' && badge(metadata['_mode'], 'on')}
      </div>
    </div>
    ${columns.length > 0 && html`<dl class="pairs">${columns.map(([name, value]) => html`<div><dt>${name}</dt><dd>${shown(value)}</dd></div>`)}</dl>`}`
}

/** What the search itself adds to a hit; the handle is for programs. */
const OWN = new Set(['_score', '_target', '_mode', '_handle'])

const scoreOf = (metadata: Hit['metadata']): number | undefined =>
  typeof metadata['_score'] === 'number' ? metadata['_score'] : undefined

/** Scores of different metrics have different scales, so the bar compares with the best hit of this answer. */
function scoreBar(score: number, best: number) {
  const share = best > 0 ? Math.min(1, Math.max(0, score / best)) : 0
  return html`<span class="score"><span class="note">score ${Number(score.toFixed(4))}</span>
    <svg width="56" height="6" aria-hidden="true"><rect class="score-ground" width="56" height="6" rx="3" /><rect class="score-share" width="${Number((share * 56).toFixed(1))}" height="6" rx="3" /></svg></span>`
}

/** Longer than about three lines, a value is folded. */
const LONG = 240
const BEGINNING = 160

function shown(value: unknown) {
  if (value === null || value === undefined) return html`<span class="note">none</span>`
  const words = typeof value === 'string' ? value : JSON.stringify(value)
  if (words.length <= LONG) return html`<span class="value">${words}</span>`
  return html`<details class="value-long">
    <summary>${words.slice(0, BEGINNING)}… <span class="note">all ${words.length} characters</span></summary>
    <div class="value">${words}</div>
  </details>`
}
