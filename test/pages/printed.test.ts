// Each command that the product prints is one that there is, with the flags that it has.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { movedCommands, movedOptions } from '../../starter/cli/moved.ts'
import { commandFlags, strangeFlags } from './flags.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const known = await commandFlags()

/** Texts that reach somebody: of the program, its events, the chart, its alerts and boards, and the page. */
const files = globSync(
  [
    '{core,api,activities,workflows,workers,starter}/**/*.ts*',
    'deploy/{alerts,boards,local}/**/*.ts',
    'deploy/chart/**/*.{yaml,json,txt}',
    'examples/**/*.yaml',
  ],
  { cwd: root },
).filter((file) => !/\.test\.tsx?$|starter\/ui\/dist/.test(file))

/** What follows the program's name and is no command: `helm uninstall joiner --namespace`, `deployment joiner in`. */
const noCommand = /^joiner (in|of|is|from|deploy\/chart|deployment\/.*) /

/** Commands in a text, up to where a sentence goes on. */
function printedIn(text: string): readonly string[] {
  const code = text.replaceAll(/^\s*(\/\/|\*|\/\*\*).*$/gm, '').replaceAll(/\$\{[^{}]*\}/g, 'X')
  return [...code.matchAll(/(?<![\w/.:@-])joiner [a-z][a-z-]*[^`'"\\\n;,|()]*/g)]
    .map(([found]) =>
      found
        .replace(/ (or|and|says|lists|shows|which|for|as|on|would)\b.*$/, '')
        .replace(/[.:] .*$/, '')
        .replace(/[.:]+$/, ''),
    )
    .filter((found) => !noCommand.test(found))
}

test('docs/command-line.md has each old spelling', () => {
  const page = readFileSync(join(root, 'docs/command-line.md'), 'utf8')
  for (const [old, now] of movedCommands) expect(page).toMatch(new RegExp(`^\\| \`${old}\` +\\| \`${now}\` +\\|$`, 'm'))
  for (const { old, now } of movedOptions)
    expect(page).toMatch(new RegExp(`^\\| \`[\\w ]+ ${old}\` +\\| \`[\\w ]+ ${now}\` +\\|$`, 'm'))
})

describe('commands that the product prints', () => {
  const printed = files.flatMap((file) =>
    printedIn(readFileSync(join(root, file), 'utf8')).map((text) => ({ file, text })),
  )

  test('are found', () => {
    expect(printed.length).toBeGreaterThan(100)
  })

  test('are those that there are', () => {
    const strange = printed.flatMap(({ file, text }) =>
      strangeFlags(`\`${text}\``, known).map((what) => `${file}: ${what}`),
    )
    expect(strange).toEqual([])
  })
})
