// npm run record-demo: runs the demo until it invites to look around, ends it as Ctrl-C does, and writes docs/demo.cast
// (https://docs.asciinema.org/manual/asciicast/v2/) and its picture, docs/demo.svg. With --draw: the picture alone.
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { pictureOf } from './terminal-picture.ts'

const at = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))
const castFile = at('docs/demo.cast')
const svgFile = at('docs/demo.svg')
/** What the demo says last. */
const ready = 'Ctrl-C ends everything'

async function record(): Promise<void> {
  const startedMs = Date.now()
  const timestamp = Math.floor(startedMs / 1000)
  const events: string[] = [JSON.stringify({ version: 2, width: 120, height: 50, timestamp, title: 'npm run demo' })]
  const child = spawn(process.execPath, [at('starter/joiner.ts'), 'demo'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, FORCE_COLOR: '1' },
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text)
    events.push(JSON.stringify([(Date.now() - startedMs) / 1000, 'o', text.replaceAll('\n', '\r\n')]))
    if (text.includes(ready)) child.kill('SIGINT')
  })
  const code = await new Promise<number | null>((resolve) => child.on('exit', resolve))
  if (code !== 130) throw new Error(`the demo ended with ${code}, and not by Ctrl-C; nothing was recorded`)
  writeFileSync(castFile, `${events.join('\n')}\n`)
}

if (!process.argv.includes('--draw')) await record()
writeFileSync(svgFile, pictureOf(readFileSync(castFile, 'utf8'), 'The demo of Joiner in a terminal'))
console.log(`wrote ${svgFile}`)
