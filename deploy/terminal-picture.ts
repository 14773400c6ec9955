// An SVG of what a program wrote to a terminal, as it came, from a recording in the format asciicast v2.

interface Line {
  /** Seconds since the beginning. */
  readonly at: number
  readonly spans: readonly Span[]
}

interface Span {
  readonly text: string
  /** Names of classes of the picture. */
  readonly styles: readonly Style[]
}

const styles = { 2: 'dim', 4: 'underlined', 31: 'red', 32: 'green' } as const
type Style = (typeof styles)[keyof typeof styles]
/** Which styles a code ends. */
const ends: Readonly<Record<number, readonly Style[]>> = {
  0: Object.values(styles),
  22: ['dim'],
  24: ['underlined'],
  39: ['red', 'green'],
}

/** Longer waits are cut: the text has their times. */
const longestPause = 1.2
/** How long the last screen stays before the picture begins again, in seconds. */
const rest = 12
const rows = 32
const lineHeight = 18
const charWidth = 7.8
const margin = 14

/** Light is the default; a page in the dark has dark pictures. */
const colors = `text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}
.paper{fill:#f6f8fa;stroke:#d1d9e0}.dim{fill:#59636e}.green{fill:#116329}.red{fill:#a40e26}.underlined{text-decoration:underline}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117;stroke:#3d444d}.dim{fill:#9198a1}.green{fill:#56d364}.red{fill:#ff7b72}}
@media (prefers-reduced-motion:reduce){*{animation:none!important}}`

/** Lines of a recording, with long pauses cut. */
function linesOf(cast: string): readonly Line[] {
  const [, ...events] = cast
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as [number, string, string])
  const lines: Line[] = []
  let [shown, last] = [0, 0]
  let rest = ''
  for (const [seconds, , text] of events) {
    shown += Math.min(seconds - last, longestPause)
    last = seconds
    const complete = `${rest}${text}`.split('\r\n')
    rest = complete.pop() ?? ''
    for (const line of complete) lines.push({ at: shown, spans: spansOf(line) })
  }
  return lines
}

/** The parts of a line by their style. Each line begins plain. */
function spansOf(line: string): readonly Span[] {
  const current = new Set<Style>()
  const [plain = '', ...styled] = line.split('\u001b[')
  const spans: Span[] = [{ text: plain, styles: [] }]
  for (const part of styled) {
    const end = part.indexOf('m')
    const code = Number(part.slice(0, end))
    for (const style of ends[code] ?? []) current.delete(style)
    if (Object.hasOwn(styles, code)) current.add(styles[code as keyof typeof styles])
    spans.push({ text: part.slice(end + 1), styles: [...current] })
  }
  return spans.filter(({ text }) => text !== '')
}

/**
 * Returns a picture in which the lines of a recording appear one after the other, again and again, and scroll once the window is full. It is as wide as the
 * longest line. Where nothing may move it is the last screen.
 */
export function pictureOf(cast: string, label: string): string {
  const lines = linesOf(cast)
  const seconds = (lines.at(-1)?.at ?? 0) + rest
  const percent = (at: number) => `${((100 * at) / seconds).toFixed(2)}%`
  const columns = Math.max(...lines.map(({ spans }) => spans.reduce((sum, { text }) => sum + text.length, 0)))
  const width = Math.ceil(columns * charWidth) + 2 * margin
  const height = Math.min(rows, lines.length) * lineHeight + 2 * margin
  const up = (index: number) => `{transform:translateY(${-Math.max(0, index + 1 - rows) * lineHeight}px)}`
  const scroll = lines.map(({ at }, index) => `${percent(at)}${up(index)}`).join('')
  const texts = lines.map(({ at, spans }, index) => {
    // A full window shows a line by scrolling to it.
    const name = index < rows ? ` class="l${index}"` : ''
    const keyframes =
      index < rows
        ? `<style>@keyframes l${index}{0%{opacity:0}${percent(at)},100%{opacity:1}}.l${index}{animation:l${index} ${seconds.toFixed(1)}s step-end infinite}</style>`
        : ''
    return `${keyframes}<text${name} x="${margin}" y="${index * lineHeight + 13}" xml:space="preserve">${spans.map(spanText).join('')}</text>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(label)}">`,
    `<style>${colors}\n@keyframes scroll{0%${up(0)}${scroll}100%${up(lines.length - 1)}}`,
    `.screen{transform:translateY(${-Math.max(0, lines.length - rows) * lineHeight}px);animation:scroll ${seconds.toFixed(1)}s step-end infinite}</style>`,
    `<rect class="paper" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    `<svg y="${margin}" height="${height - 2 * margin}"><g class="screen">`,
    ...texts,
    '</g></svg></svg>',
    '',
  ].join('\n')
}

function spanText({ text, styles }: Span): string {
  return styles.length === 0 ? escaped(text) : `<tspan class="${styles.join(' ')}">${escaped(text)}</tspan>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
