/** HTML as blocks. It is read from left to right, and no tree is made of it. */
import { Parser } from 'htmlparser2'
import { inOneLine, UnreadableFile, type Block, type ReadText } from './blocks.ts'

/** Nobody reads what is in them. */
const SKIPPED = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'math',
  'iframe',
  'object',
  'nav',
  'select',
  'button',
])
/** In these a new line does not begin. */
const INLINE = new Set(
  'a abbr b bdi bdo big cite code data del dfn em font i img input ins kbd label mark q s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
)

/** The parser looks through all that are open, whenever one is closed. */
const DEPTH_MAX = 2_000

export const readHtml = (text: string): ReadText => htmlBlocks(text)

export function htmlBlocks(html: string): ReadText {
  const blocks: Block[] = []
  let text = ''
  let title: string | undefined
  let skipping = 0
  let depth = 0
  let heading = 0
  let isTitle = false
  let code: string | undefined
  let items: string[] | undefined
  let listDepth = 0
  let rows: string[] | undefined
  let cells: string[] | undefined
  let hasHeader = false

  /** What was said since the last block. */
  function endText(): void {
    const said = inOneLine(text)
    text = ''
    if (said === '') return
    if (cells) cells.push(said)
    else if (heading > 0) blocks.push({ kind: 'heading', level: heading, text: said })
    else if (items) items.push(`- ${said}`)
    else blocks.push({ kind: 'paragraph', text: said })
  }
  function endList(): void {
    if (items && items.length > 0) blocks.push({ kind: 'list', lines: items })
    items = undefined
  }
  function endRow(): void {
    if (cells && cells.length > 0) rows?.push(cells.join(' | '))
    cells = undefined
  }
  function endTable(): void {
    endRow()
    const [first, ...others] = rows ?? []
    if (first !== undefined) {
      blocks.push(
        hasHeader
          ? { kind: 'table', header: first, lines: others }
          : { kind: 'table', lines: [first, ...others] },
      )
    }
    rows = undefined
    hasHeader = false
  }
  function endCode(): void {
    if (code !== undefined && code.trim() !== '') blocks.push({ kind: 'code', lines: code.split('\n') })
    code = undefined
  }

  const parser = new Parser(
    {
      onopentagname(name) {
        depth += 1
        if (depth > DEPTH_MAX) throw new UnreadableFile('Its tags are nested too deeply.')
        if (SKIPPED.has(name)) skipping += 1
        if (skipping > 0) return
        if (name === 'title') isTitle = title === undefined
        else if (name === 'br') text += ' '
        else if (!INLINE.has(name) && cells === undefined) endText()
        else if (!INLINE.has(name)) text += ' '
        if (/^h[1-6]$/.test(name) && cells === undefined) heading = Number(name[1])
        else if (name === 'pre') code = ''
        else if (name === 'ul' || name === 'ol' || name === 'dl') {
          if (cells === undefined && rows === undefined) {
            listDepth += 1
            items ??= []
          }
        } else if (name === 'table' && rows === undefined) {
          endList()
          rows = []
        } else if (name === 'tr' && rows) {
          endText()
          endRow()
          cells = []
        } else if ((name === 'td' || name === 'th') && rows) {
          cells ??= []
          endText()
          if (name === 'th' && rows.length === 0) hasHeader = true
        }
      },
      ontext(said) {
        if (skipping > 0) return
        if (isTitle) title = (title ?? '') + said
        else if (code !== undefined) code += said
        else text += said
      },
      onclosetag(name) {
        depth -= 1
        if (SKIPPED.has(name)) {
          skipping = Math.max(0, skipping - 1)
          return
        }
        if (skipping > 0) return
        if (name === 'title') isTitle = false
        else if (name === 'pre') endCode()
        else if (name === 'table') {
          endText()
          endTable()
        } else if (name === 'td' || name === 'th') {
          // An empty cell keeps its place.
          if (cells && inOneLine(text) === '') cells.push('')
          endText()
        } else if (name === 'tr') endRow()
        else if (!INLINE.has(name) && cells === undefined) endText()
        if (/^h[1-6]$/.test(name)) heading = 0
        if ((name === 'ul' || name === 'ol' || name === 'dl') && listDepth > 0) {
          listDepth -= 1
          if (listDepth === 0) endList()
        }
      },
    },
    { decodeEntities: true, lowerCaseTags: true },
  )
  parser.write(html)
  parser.end()
  endText()
  endCode()
  endTable()
  endList()
  return { title: inOneLine(title ?? '') || undefined, blocks }
}
