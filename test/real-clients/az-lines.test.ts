import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { azLines, azLinesOf, typedLinesOf } from './az-lines.ts'
import { judged, refusedLines } from './refused-lines.ts'

test('a page gives the commands of its blocks, with what sed writes for them, and those of its text that have options', () => {
  const page = [
    '`az login`, then `az aks list --output table`.',
    '```sh',
    'az aks show --name one \\',
    '  --query id',
    '```',
    '```sh',
    'sed s/a/b/ one > two',
    'joiner admin aks setup # prints az commands',
    'export ID="$(az account show --query id)"',
    'az role definition create --role-definition @two',
    '```',
    '```sh',
    'sed s/a/b/ one',
    '```',
  ].join('\n')
  expect(azLinesOf('page.md', page)).toEqual([
    'az aks show --name one --query id',
    'sed s/a/b/ one > two',
    'ID="$(az account show --query id)"',
    'az role definition create --role-definition @two',
    'az aks list --output table',
  ])
})

test('what is typed of a page are whole blocks with commands of az, without Docker', () => {
  const page = [
    '```sh',
    'helm list',
    '```',
    '```sh',
    'R=r$RANDOM',
    'az acr create \\',
    '  --name "$R"',
    'docker push "$R"',
    '```',
  ]
  expect(typedLinesOf('page.md', page.join('\n'))).toEqual(['R=r$RANDOM', 'az acr create --name "$R"'])
})

const newer = {
  code: 2,
  output: 'WARNING: old\nERROR: unrecognized arguments: --node-provisioning-mode Manual\n\nExamples',
}

test.each([
  ['az group list --output table', { code: 0, output: '[]' }, true, 'done'],
  ['az group list --output table', newer, false, 'ERROR: unrecognized arguments: --node-provisioning-mode Manual'],
  ['az aks update --name a', newer, true, 'refused: Debian has an older Azure CLI than the page demands'],
  ['az aks update --name a', { code: 1, output: 'ERROR: no login' }, false, 'ERROR: no login'],
  ['az aks update --name a', { code: 0, output: '' }, false, 'done: take it out of test/real-clients/refused-lines.ts'],
])('%s ends with %o: %s, %s', (text, ran, isOk, outcome) => {
  expect(judged(text, ran)).toEqual({ isOk, outcome })
})

test('the commands of the installation that are refused are those of its table', () => {
  const page = readFileSync(new URL('../../docs/install-aks.md', import.meta.url), 'utf8')
  const [, table = ''] = page.split('## Not run by us')
  const rows = [...table.matchAll(/^\| `(az [^`]*)`/gm)].map(([, command = '']) => command)
  const isRefused = (line: string) => refusedLines.some((one) => line.startsWith(one.line))
  const isTold = (line: string) => rows.some((command) => line.startsWith(`${command} `))
  const commands = azLinesOf('docs/install-aks.md', page)
  const refused = commands.filter(isRefused)
  expect(refused.length).toBe(rows.length)
  expect(commands.filter(isTold)).toEqual(refused)
})

test('each command that is refused is on a page', () => {
  const lines = azLines().map(({ text }) => text)
  expect(refusedLines.filter(({ line }) => !lines.some((text) => text.startsWith(line)))).toEqual([])
})
