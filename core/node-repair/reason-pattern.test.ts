import { expect, it } from 'vitest'
import { reasonPattern } from './reason-pattern.ts'

const matches = (pattern: string, reason: string) => {
  const compiled = reasonPattern(pattern)
  if (compiled.kind === 'invalid') throw new Error(compiled.message)
  return compiled.matches(reason)
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
])('/%s/ matches %j and not %j', (pattern, yes, no) => {
  expect(yes.filter((reason) => !matches(pattern, reason))).toEqual([])
  expect(no.filter((reason) => matches(pattern, reason))).toEqual([])
})

it.each([
  ['(a', 'without its ")"'],
  ['a)', 'has a ")"'],
  ['[a', 'without its "]"'],
  ['*a', 'nothing to repeat'],
  ['a**', 'repeats a repetition'],
  ['a{3,2}', 'the smaller one first'],
  ['a{2000}', 'counts up to 1000'],
  ['(a{1000}){1000}', 'repeats too much'],
  ['\\1', 'is not supported'],
  ['(?=a)', 'is not supported'],
  ['[z-a]', 'the smaller one first'],
  ['[[:digit:]]', 'has "[:" in a set'],
  ['[[.x.]]', 'has "[." in a set'],
  ['a\\', 'ends with'],
  [`${'('.repeat(60)}${')'.repeat(60)}`, 'nests more than 50 groups'],
  ['a'.repeat(257), 'use at most 256'],
])('/%s/ is refused: %s', (pattern, why) => {
  expect(reasonPattern(pattern)).toEqual({ kind: 'invalid', message: expect.stringContaining(why) })
})

it('takes no longer for patterns that keep other engines busy for ever', () => {
  const startedAt = performance.now()
  for (const pattern of ['^(a+)+$', '^(a|aa)+$', '(.*)*(.*)*(.*)*x$', '^(a?){60}a{60}$'])
    matches(pattern, `${'a'.repeat(100_000)}!`)
  expect(performance.now() - startedAt).toBeLessThan(2000)
})
