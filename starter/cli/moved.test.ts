import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { commandFirst, type Typed } from './arguments.ts'
import { registerCommands } from './commands.ts'
import { newSpelling } from './moved.ts'

const program = new Command('joiner')
await registerCommands(program)

const spelling = (typed: Typed) => newSpelling(typed, program)
const typed = (line: string) => spelling(commandFirst(line.split(' ')))

describe('what was typed', () => {
  test.each([
    ['quota', 'joiner blocked quota'],
    ['capacity clear --all -n nodes', 'joiner blocked capacity clear --all --joiner-namespace nodes'],
    ['quarantine list', 'joiner blocked objects list'],
    ['report --since 30d --out=a.md', 'joiner history report --since 30d --output-file=a.md'],
    ['crds apply --namespace nodes', 'joiner admin crds apply --joiner-namespace nodes'],
    ['aks setup --cluster prod --apply', 'joiner admin aks setup --cluster-name prod --yes'],
    ['uninstall --cluster prod', 'joiner admin uninstall --cluster-name prod'],
    ['cost --by namespace', 'joiner cost --group-by namespace'],
    ['plan --now --save a.json', 'joiner plan --ignore-consolidate-after --output-file a.json'],
    ['top --sort cpu', 'joiner top --sort-by cpu'],
    ['-n nodes status', 'joiner status --joiner-namespace nodes'],
    ['why node a --cluster prod', 'joiner why node a --cluster-name prod'],
    ['pause --node aks-1 --until 2h', 'joiner node hold aks-1 --until 2h'],
    ['resume --node=aks-1', 'joiner node release aks-1'],
    ['pause --reason --node --node aks-1', 'joiner node hold aks-1 --reason --node'],
    ['plan --save --now', 'joiner plan --output-file --now'],
    ['plan --now --save --now', 'joiner plan --ignore-consolidate-after --output-file --now'],
  ])('%s is written otherwise now', (line, now) => {
    expect(typed(line)).toBe(now)
  })

  test('is given back as a shell takes it', () => {
    const options = ['--node', 'a', '--reason', "it's late"]
    expect(spelling({ words: ['pause'], options })).toBe("joiner node hold a --reason 'it'\\''s late'")
  })

  test.each([
    'status --context prod -o json',
    'why pod -n shop web',
    'simulate a.json --now 2026-01-01T00:00:00Z --catalog c.json --prices p.json --complete',
    'validate a.yaml',
    'instance-types --catalog a.json',
    'node hold a --by bob',
    'plan --node a',
    'complete -- quota --by',
    'local up',
    'pause --reason --cluster',
    'top --filter --sort',
    'plan --output-file --now',
    'status -- --cluster',
  ])('%s is as it was', (line) => {
    expect(typed(line)).toBeUndefined()
  })
})
