import { expect, it } from 'vitest'
import { comparedTable, type Measured, measuredTable } from './measured.ts'

const peer: Measured = {
  title: 'Peer',
  controller: 'peer',
  pods: 5,
  nodes: 5,
  baselineMs: 500,
  upMs: 2500,
  downMs: 50_000,
  stages: { 'last NodeClaim': 1000, 'last VM accepted': undefined },
  downStages: { 'last Node tainted': 46_000 },
  replaced: 0,
  cpuUp: [
    ['etcd', 2],
    ['peer', 1],
    ['this benchmark', 9],
  ],
  cpuDown: [['peer', 0.5]],
  strangersCpuUp: 1,
  peakRssMiB: new Map([['peer', 100]]),
}

const ours: Measured = {
  ...peer,
  title: 'Ours',
  controller: 'ours',
  upMs: 5000,
  downMs: 40_000,
  stages: { 'last NodeClaim': 1500, 'last VM accepted': 2000 },
  plans: { count: 1, solveMs: 30 },
  cpuUp: [
    ['ours', 3],
    ['temporal', 1],
    ['etcd', 2],
    ['this benchmark', 9],
  ],
  cpuDown: [['ours', 1]],
  peakRssMiB: new Map([
    ['ours', 400],
    ['temporal', 200],
  ]),
}

/** Cells of the row that begins so. */
function row(text: string, name: string): readonly string[] {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`| ${name}`)) ?? ''
  return line
    .split('|')
    .slice(2, -1)
    .map((cell) => cell.trim())
}

it('a comparison has the peer first, and ratios to it where there is something to compare', () => {
  const text = comparedTable(peer, [ours, { ...ours, title: 'Again', upMs: 2500 }])
  expect(row(text, '5 pods, 5 nodes')).toEqual(['Peer', 'Ours', 'ratio', 'Again', 'ratio'])
  expect(row(text, '**scale request')).toEqual(['**2.50 s**', '**5.00 s**', '2.00', '**2.50 s**', '1.00'])
  expect(row(text, '**scale to 0').slice(0, 3)).toEqual(['**50.0 s**', '**40.0 s**', '0.80'])
  expect(row(text, '... last NodeClaim').slice(0, 3)).toEqual(['1.00 s', '1.50 s', '1.50'])
  expect(row(text, '... last VM accepted').slice(0, 3)).toEqual(['', '2.00 s', ''])
  expect(row(text, '... last Node tainted').slice(0, 3)).toEqual(['46.0 s', '46.0 s', '1.00'])
  expect(row(text, '... plans').slice(0, 3)).toEqual(['', '1, 0.03 s', ''])
  expect(row(text, "the controller's CPU, up").slice(0, 3)).toEqual(['1.0 s', '3.0 s', '3.00'])
  expect(row(text, "the controller's peak RSS").slice(0, 3)).toEqual(['100 MiB', '400 MiB', '4.00'])
  expect(row(text, 'peak RSS with Temporal').slice(0, 3)).toEqual(['100 MiB', '600 MiB', '6.00'])
})

it('the CPU of controller and servers leaves out the process that watches', () => {
  const text = comparedTable(peer, [ours])
  expect(row(text, 'CPU of controller and servers, up')).toEqual(['3.0 s', '6.0 s', '2.00'])
  expect(row(text, '... etcd')).toEqual(['2.0 s', '2.0 s', '1.00'])
  expect(row(text, '... temporal')).toEqual(['', '1.0 s', ''])
  expect(text).not.toContain('this benchmark')
})

it('without a peer there is a column for each run, and nothing of a peer', () => {
  const text = measuredTable([ours, { ...ours, pods: 100 }])
  expect(row(text, ' ')).toEqual(['Ours: 5 pods, 5 nodes', 'Ours: 100 pods, 100 nodes'])
  expect(text).not.toMatch(/ratio|Karpenter|Peer/)
})
