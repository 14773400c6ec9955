import { describe, expect, test } from 'vitest'
import { differences, differencesOf } from './differences.ts'

const claim = (...lines: readonly string[]) => ['nodeclaims general-*', ...lines].join('\n')
const pod = 'pods inflate-*\nlabel app=inflate'

describe('differences', () => {
  test('of an object are its lines', () => {
    const [fast, real] = [[claim('condition Ready=True/Ready')], [claim('condition Ready=True/KubeletReady')]]
    expect(differences(fast, fast)).toEqual([])
    expect(differences(fast, real)).toEqual([
      'only in virtual time: nodeclaims general-*: condition Ready=True/Ready',
      'only on real servers: nodeclaims general-*: condition Ready=True/KubeletReady',
    ])
  })

  test('count objects that look the same', () => {
    expect(differences([pod, pod], [pod])).toEqual(['only in virtual time: pods inflate-*'])
    expect(differences([], [pod, 'event Pod Nominated'])).toEqual([
      'only on real servers: pods inflate-*',
      'only on real servers: event Pod Nominated',
    ])
  })
})

describe('between real servers and several courses of virtual time', () => {
  test('what real servers have and no course has counts, and what all courses have and real servers have not', () => {
    expect(differencesOf('a', [[pod], [pod]], ['event Pod Evicted'])).toEqual([
      { line: 'only in virtual time: pods inflate-*' },
      { line: 'only on real servers: event Pod Evicted' },
    ])
  })

  test('what one course has as real servers have it does not count, and is said', () => {
    const uncounted = 'chance: not in each course'
    expect(differencesOf('a', [[], ['event Pod Evicted']], ['event Pod Evicted'])).toEqual([
      { line: 'only on real servers: event Pod Evicted', uncounted },
    ])
    expect(differencesOf('a', [[], [pod]], [])).toEqual([])
    expect(differencesOf('a', [[pod], []], [])).toEqual([{ line: 'only in virtual time: pods inflate-*', uncounted }])
  })

  test('what follows from time alone does not count, in its own direction', () => {
    const away = [claim('annotation joiner.sh/time-away')]
    expect(differencesOf('a', [[claim()]], away)).toMatchObject([{ uncounted: expect.stringMatching(/^time: /) }])
    expect(differencesOf('a', [away], [claim()])).toEqual([
      { line: 'only in virtual time: nodeclaims general-*: annotation joiner.sh/time-away' },
    ])
    const checked = [claim('condition ConsistentStateFound=True/ConsistentStateFound')]
    expect(differencesOf('a', [[claim()]], checked)).toMatchObject([{ uncounted: expect.stringMatching(/^time: /) }])
    expect(differencesOf('a', [[]], checked)).toEqual([{ line: 'only on real servers: nodeclaims general-*' }])
  })

  test('a test without a verdict differs', () => {
    expect(differencesOf('a', [[], undefined], [])).toEqual([{ line: 'no verdict in virtual time' }])
    expect(differencesOf('a', [[]], undefined)).toEqual([{ line: 'no verdict on real servers' }])
  })
})
