import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

// Records the demo as docs/demo.cast (https://docs.asciinema.org/manual/asciicast/v2/) and draws docs/demo.svg from it.

interface Line {
  /** Seconds since the beginning. */
  readonly at: number
  readonly text: string
}

const at = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))
const castFile = at('docs/demo.cast')
const svgFile = at('docs/demo.svg')

const columns = 110
/** Waits are told by the times in the text; nobody wants to sit through them. */
const longestPause = 1.2
const lineHeight = 18
const charWidth = 7.8
const margin = 14
/** How long the last line stays before the picture begins anew, in seconds. */
const rest = 8

async function record(): Promise<void> {
  const startedMs = Date.now()
  const events: string[] = [
    JSON.stringify({
      version: 2,
      width: columns,
      height: 50,
      timestamp: Math.floor(startedMs / 1000),
      title: 'npm run demo',
    }),
  ]
  const child = spawn(process.execPath, [at('starter/joiner.ts'), 'demo', '--exit'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, FORCE_COLOR: '1' },
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text)
    events.push(JSON.stringify([(Date.now() - startedMs) / 1000, 'o', text.replaceAll('\n', '\r\n')]))
  })
  const code = await new Promise<number | null>((resolve) => child.on('exit', resolve))
  if (code !== 0) throw new Error(`the demo ended with ${code}; nothing was recorded`)
  writeFileSync(castFile, `${events.join('\n')}\n`)
}

/** The lines of a recording, with long pauses cut. */
function linesOf(cast: string): readonly Line[] {
  const [, ...events] = cast
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as [number, string, string])
  const lines: Line[] = []
  let [shown, last] = [0, 0]
  for (const [seconds, , text] of events) {
    shown += Math.min(seconds - last, longestPause)
    last = seconds
    for (const line of stripVTControlCharacters(text).split('\r\n'))
      if (line !== '') lines.push({ at: shown, text: line.slice(0, columns) })
  }
  return lines
}

/** A picture in which the lines appear one after the other, again and again. */
function svgOf(lines: readonly Line[]): string {
  const length = (lines.at(-1)?.at ?? 0) + rest
  const [width, height] = [columns * charWidth + 2 * margin, (lines.length + 1) * lineHeight + 2 * margin]
  const shown = lines.map(({ at: seconds, text }, index) => {
    const percent = ((100 * seconds) / length).toFixed(2)
    const y = margin + (index + 1) * lineHeight
    return [
      `<style>@keyframes l${index}{0%,${percent}%{opacity:0}${Math.min(100, Number(percent) + 0.01).toFixed(2)}%,100%{opacity:1}}</style>`,
      `<text x="${margin}" y="${y}" style="animation:l${index} ${length.toFixed(1)}s infinite">${escaped(text)}</text>`,
    ].join('')
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width.toFixed(0)}" height="${height}" role="img" aria-label="The demo of Joiner in a terminal">`,
    `<rect width="100%" height="100%" rx="8" fill="#0d1117"/>`,
    `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13" fill="#c9d1d9" xml:space="preserve">`,
    ...shown,
    '</g></svg>',
    '',
  ].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

await record()
writeFileSync(svgFile, svgOf(linesOf(readFileSync(castFile, 'utf8'))))
console.log(`recorded ${castFile} and ${svgFile}`)
