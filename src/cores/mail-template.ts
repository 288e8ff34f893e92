/**
 * The one template of all mails: the same content as plain text and as HTML. Everything is escaped here and nowhere else.
 * No image, script, font or style is fetched, so opening a mail tells nobody. Styles are in the elements, because several
 * mail programs drop the style sheet; that one adds the dark colors. They are those of the console.
 */

export type MailPart =
  | { readonly text: string }
  /** A line that stands out: what it is about. */
  | { readonly quote: string }
  /** The one thing to do: a button, and in plain text the address on a line of its own. */
  | { readonly button: string; readonly url: string }
  /** One of several: what happened, what it is about, and where to read it. */
  | { readonly item: string; readonly about: readonly string[]; readonly url: string }

export type MailContent = {
  readonly subject: string
  readonly heading: string
  readonly parts: readonly MailPart[]
  /** Why somebody gets this. */
  readonly footer: string
  readonly footerLink?: { readonly label: string; readonly url: string }
}

export type ComposedMail = { readonly subject: string; readonly text: string; readonly html: string }

export const composeMail = (content: MailContent): ComposedMail => ({
  subject: content.subject,
  text: plainText(content),
  html: htmlOf(content),
})

function plainText({ heading, parts, footer, footerLink }: MailContent): string {
  const link = footerLink ? `\n${footerLink.label}: ${footerLink.url}` : ''
  return [heading, ...parts.map(plainPart), `${footer}${link}`].join('\n\n')
}

function plainPart(part: MailPart): string {
  if ('text' in part) return part.text
  if ('quote' in part) return `> ${part.quote}`
  if ('button' in part) return part.url
  return [part.item, ...part.about, part.url].join('\n')
}

const FONT = `font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif`
const SERIF = `font-family:ui-serif,'Iowan Old Style',Charter,'Noto Serif',Cambria,Georgia,serif`
/** A word of two hundred characters must not make the mail wider than the screen. */
const BREAK = 'overflow-wrap:anywhere;word-break:break-word'

/** By use, as in the console's style sheet: light, dark. */
const COLORS = {
  paper: ['#f6f5f1', '#0e1311'],
  surface: ['#ffffff', '#151c19'],
  line: ['#e4e2d9', '#26302b'],
  ink: ['#1a211d', '#e7ece8'],
  soft: ['#56605a', '#a2aea7'],
  accent: ['#0b6b5b', '#6fd3bb'],
  onAccent: ['#ffffff', '#05231c'],
  accentSoft: ['#e2f0eb', '#143029'],
} as const
const light = (name: keyof typeof COLORS): string => COLORS[name][0]
const dark = (name: keyof typeof COLORS): string => `${COLORS[name][1]} !important`

const DARK = `@media (prefers-color-scheme:dark){
.paper{background:${dark('paper')}}
.surface{background:${dark('surface')};border-color:${dark('line')}}
.line{border-color:${dark('line')}}
.ink{color:${dark('ink')}}
.soft{color:${dark('soft')}}
.accent{color:${dark('accent')}}
.quote{color:${dark('ink')};background:${dark('accentSoft')};border-color:${dark('accent')}}
.button{background:${dark('accent')};color:${dark('onAccent')}}
}`

const htmlOf = ({ subject, heading, parts, footer, footerLink }: MailContent): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<title>${escapeHtml(subject)}</title>
<style>:root{color-scheme:light dark;supported-color-schemes:light dark}
${DARK}</style>
</head>
<body class="paper" style="margin:0;padding:0;background:${light('paper')};-webkit-text-size-adjust:100%">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="paper" style="background:${light('paper')}">
<tr><td align="center" style="padding:28px 12px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:560px;table-layout:fixed">
<tr><td class="accent" style="${FONT};padding:0 8px 14px;font-size:17px;font-weight:700;color:${light('accent')}">svc</td></tr>
<tr><td class="surface" style="${FONT};${BREAK};padding:28px 24px;font-size:15px;line-height:1.6;background:${light('surface')};border:1px solid ${light('line')};border-radius:12px">
<h1 class="ink" style="${SERIF};${BREAK};margin:0 0 16px;font-size:22px;line-height:1.3;font-weight:600;color:${light('ink')}">${escapeHtml(heading)}</h1>
${parts.map(htmlPart).join('\n')}
</td></tr>
<tr><td class="soft" style="${FONT};${BREAK};padding:16px 8px 0;font-size:13px;line-height:1.5;color:${light('soft')}">${escapeHtml(footer)}${footerLink ? ` ${link(footerLink.label, footerLink.url, 'soft', 'text-decoration:underline')}` : ''}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`

function htmlPart(part: MailPart): string {
  if ('text' in part) {
    return `<p class="ink" style="margin:0 0 16px;color:${light('ink')}">${escapeHtml(part.text)}</p>`
  }
  if ('quote' in part) {
    return `<p class="quote" style="${BREAK};margin:0 0 16px;padding:10px 14px;color:${light('ink')};background:${light('accentSoft')};border-left:3px solid ${light('accent')};border-radius:8px">${escapeHtml(part.quote)}</p>`
  }
  if ('button' in part) {
    return `<p style="margin:20px 0 4px">${link(part.button, part.url, 'button', `display:inline-block;padding:10px 18px;border-radius:8px;font-weight:600;text-decoration:none;background:${light('accent')};color:${light('onAccent')}`)}</p>`
  }
  const about = part.about.map(
    (line) =>
      `<div class="soft" style="${BREAK};font-size:13px;color:${light('soft')}">${escapeHtml(line)}</div>`,
  )
  return `<div class="line" style="${BREAK};padding:12px 0;border-top:1px solid ${light('line')}">${link(part.item, part.url, 'accent', `font-weight:600;text-decoration:none;color:${light('accent')}`)}${about.join('')}</div>`
}

const link = (label: string, url: string, className: string, style: string): string =>
  `<a class="${className}" href="${escapeHtml(safeUrl(url))}" style="${style}${className === 'soft' ? `;color:${light('soft')}` : ''}">${escapeHtml(label)}</a>`

/** Ours are all of this kind; anything else would be somebody else's. */
function safeUrl(url: string): string {
  if (!/^https?:$/.test(new URL(url).protocol)) throw new Error('a mail links to pages only')
  return url
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (one) => ENTITIES[one]!)
