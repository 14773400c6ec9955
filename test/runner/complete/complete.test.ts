import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ageWarning, mostCommits } from './age.ts'
import { type Ended, notRun, page, recordedCommit, recordOf, withRecord } from './record.ts'
import { kept } from './resume.ts'

const cost = (tests: number, seconds: number) => ({ suites: 1, tests, seconds, cpuSeconds: seconds })
const ended: readonly Ended[] = [
  {
    name: 'all groups',
    outcome: 'failed',
    seconds: 600,
    report: {
      costs: { unit: cost(40, 60), servers: cost(5, 240), all: cost(3, 300) },
      passed: 46,
      failed: 1,
      skipped: ['a.test.ts > on a terminal'],
    },
  },
  { name: 'hostile', outcome: 'passed', seconds: 120 },
  { name: 'ecosystem', outcome: 'not run', seconds: 0, reason: 'Go is needed' },
]

describe('the record of a complete run', () => {
  const record = recordOf('2026-11-26, commit 0123abc, 2 cores', ended)

  test('has date, commit and counts, and what npm test took of it', () => {
    expect(record).toContain('2026-11-26, commit 0123abc, 2 cores: 46 tests passed, 1 failed, 1 skipped.')
    expect(record).toContain('45 tests, took **5.0 minutes**')
    expect(record).toContain('| ecosystem | not run | 0.0 |')
  })

  test('goes into the page, where its commit is found again', () => {
    const text = withRecord(readFileSync(page, 'utf8'), record)
    expect(recordedCommit(text)).toBe('0123abc')
    expect(withRecord(text, record)).toBe(text)
    expect(recordedCommit('# Testing\n\ncommit 0123abc')).toBeUndefined()
  })

  test('names what did not run, and why', () => {
    expect(notRun(ended, ['npm run bench: it proves nothing'])).toEqual([
      'ecosystem: Go is needed',
      'a.test.ts > on a terminal',
      'npm run bench: it proves nothing',
    ])
  })
})

describe('a complete run that is resumed', () => {
  const where = '2026-11-26, commit 0123abc, 2 cores'
  const state = { where, seed: '7', passed: ended.filter(({ outcome }) => outcome === 'passed') }

  test('keeps what passed on the same commit, and its seed', () => {
    expect(kept(JSON.stringify(state), where)).toEqual(state)
    expect(kept(JSON.stringify(state), where.replace('2026-11-26', '2026-11-27'))).toEqual(state)
  })

  test('keeps nothing of another commit, of changed files, or where nothing is', () => {
    expect(kept(JSON.stringify(state), '2026-11-26, commit 0123abd, 2 cores')).toBeUndefined()
    const changed = `${where.replace(',', '')} with changes`
    expect(kept(JSON.stringify({ ...state, where: changed }), changed)).toBeUndefined()
    expect(kept(undefined, where)).toBeUndefined()
  })
})

describe('the age of a complete run', () => {
  let folder: string
  let first: string
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example', ...words], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  const commit = () => git('commit', '--allow-empty', '--message', 'next')

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'joiner-age-'))
    git('init')
    commit()
    first = git('rev-parse', 'HEAD')
    for (let count = 0; count < mostCommits; count++) commit()
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('is warned of from the 41st commit on', () => {
    expect(ageWarning(first, folder)).toBeUndefined()
    commit()
    expect(ageWarning(first, folder)).toMatch(/41 commits old \(at most 40\); run npm run test:all/)
  })

  test('is warned of where there was none', () => {
    expect(ageWarning(undefined, folder)).toMatch(/has no complete run/)
  })

  test('is unknown in a clone without its commit, and outside of a repository', () => {
    expect(ageWarning('0123abc', folder)).toBeUndefined()
    const shallow = join(folder, 'shallow')
    git('clone', '--depth', '1', `file://${folder}`, shallow)
    expect(ageWarning(first, shallow)).toBeUndefined()
    expect(ageWarning(first, tmpdir())).toBeUndefined()
  })
})
