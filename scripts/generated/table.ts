/** A Markdown table, and how a generated one is put into a hand-written page. */

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim()

/** The page with what stands between `<!-- name -->` and `<!-- /name -->` replaced. */
export function betweenMarkers(page: string, name: string, content: string): string {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
  const [start, end] = [page.indexOf(open), page.indexOf(close)]
  if (start < 0 || end < start) throw new Error(`The page lacks the markers ${open} and ${close}`)
  return `${page.slice(0, start + open.length)}\n\n${content}\n\n${page.slice(end)}`
}
