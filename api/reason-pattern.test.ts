import { expect, it } from 'vitest'
import { samplePolicy } from '../test/samples/sample-objects.ts'
import { reasonPatternError, repairRules } from './reason-pattern.ts'

const matches = (reasonPattern: string, reason: string) => {
  const [rule] = repairRules([samplePolicy('Ready', 'False', { reasonPattern })])
  return rule?.matches(reason) === true
}

it.each<[string, readonly string[], readonly string[]]>([
  ['Hang', ['Hang', 'DockerHang', 'Hangs'], ['hang', 'Han', '']],
  ['^Docker', ['DockerHung'], ['NoDocker']],
  ['Hung$', ['DockerHung'], ['HungUp']],
  ['^$', [''], ['a']],
  ['.*', ['', 'anything'], []],
  ['', ['', 'anything'], []],
  ['^(Docker|Containerd)Hung$', ['DockerHung', 'ContainerdHung'], ['Hung', 'DockerContainerdHung']],
  ['^(?:a|b)+c?$', ['ab', 'bbac'], ['c', 'abcc']],
  ['^a{2,3}$', ['aa', 'aaa'], ['a', 'aaaa']],
  ['^a{2}$', ['aa'], ['a', 'aaa']],
  ['^a{2,}$', ['aa', 'aaaaa'], ['a']],
  ['^a{x}$', ['a{x}'], ['a']],
  ['^[A-C_-]+$', ['A-B_C'], ['D', 'a']],
  ['^[^0-9]$', ['a'], ['7']],
  ['^[]a]$', [']', 'a'], ['b']],
  ['^\\d+\\.\\w\\S$', ['12.ab'], ['12ab', 'x.ab']],
  ['^\\D\\W\\s$', ['a- '], ['1- ']],
  ['(?i)^xid[0-9a-f]$', ['XID7', 'xidF'], ['xidg']],
  ['^[\\d.]+$', ['1.2'], ['1x']],
  ['^a.*?b$', ['ab', 'axxb'], ['a']],
  ['^(a*)*$', ['', 'aaaa'], ['b']],
  ['^[[:digit:]]+$', ['12'], ['a']],
  ['(?P<device>\\pL+)[0-9]', ['Xid7'], ['7']],
])('/%s/ matches %j and not %j', (pattern, yes, no) => {
  expect(yes.filter((reason) => !matches(pattern, reason))).toEqual([])
  expect(no.filter((reason) => matches(pattern, reason))).toEqual([])
})

it.each([
  ['(a', 'missing closing )'],
  ['a)', 'unexpected )'],
  ['[a', 'missing closing ]'],
  ['*a', 'missing argument to repetition operator'],
  ['a**', 'invalid nested repetition operator'],
  ['a{3,2}', 'invalid repeat count'],
  ['a{2000}', 'invalid repeat count'],
  ['(a{1000}){1000}', 'invalid repeat count'],
  ['(a{900}){1}b{900}c{900}', 'repeats too much: 2704 steps; it may have 2000'],
  ['\\1', 'invalid escape sequence'],
  ['(?=a)', 'invalid or unsupported Perl syntax'],
  ['[z-a]', 'invalid character class range'],
  ['a\\', 'trailing backslash'],
  ['a'.repeat(257), 'use at most 256'],
])('/%s/ is refused: %s', (pattern, why) => {
  expect(reasonPatternError(pattern)).toContain(why)
})

it('a policy without a pattern matches nothing', () => {
  expect(repairRules([samplePolicy('Ready', 'False')]).map(({ matches: matchesIt }) => matchesIt(''))).toEqual([false])
})

it('takes no longer for patterns that keep other engines busy for ever', () => {
  const startedAt = performance.now()
  for (const pattern of ['^(a+)+$', '^(a|aa)+$', '(.*)*(.*)*(.*)*x$', '^(a?){60}a{60}$'])
    matches(pattern, `${'a'.repeat(100_000)}!`)
  expect(performance.now() - startedAt).toBeLessThan(2000)
})
