import { describe, expect, test } from 'vitest'
import { cut } from '../../document/text.ts'
import { bar, bytesText, coresText, shareOf, shareStyle } from './columns.ts'

test.each<[number, number, string]>([
  [0, 5, '░░░░░   0%'],
  [0.5, 4, '██░░  50%'],
  [1, 5, '█████ 100%'],
  [1.5, 5, '█████ 150%'],
  [-1, 2, '░░ -100%'],
  [0.625, 0, '  63%'],
])('a bar of %d in %i characters', (share, width, expected) => expect(bar(share, width)).toBe(expected))

test.each<[number, string]>([
  [0, 'red'],
  [0.3, 'yellow'],
  [0.7, 'green'],
  [1, 'green'],
  [1.01, 'red'],
])('a share of %d is %s', (share, expected) => expect(shareStyle(share)).toBe(expected))

test.each<[number, number, number | undefined]>([
  [1, 4, 0.25],
  [1, 0, undefined],
  [1, Number.NaN, undefined],
])('%d of %d', (requested, allocatable, expected) => expect(shareOf(requested, allocatable)).toBe(expected))

describe('amounts', () => {
  test.each<[number, string]>([
    [0, '0.0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [15.4 * 2 ** 30, '15.4 GiB'],
    [150 * 2 ** 40, '150 TiB'],
    [2 ** 70, '1048576 PiB'],
  ])('%d bytes', (bytes, expected) => expect(bytesText(bytes)).toBe(expected))
  test.each<[number, string]>([
    [0.25, '0.3'],
    [99.94, '99.9'],
    [118, '118'],
  ])('%d cores', (cores, expected) => expect(coresText(cores)).toBe(expected))
})

test.each<[string, boolean, number, string]>([
  ['general', false, 7, 'general'],
  ['general', false, 4, 'gen…'],
  ['aks-general-7kq2x', true, 6, '…7kq2x'],
  ['general', true, 0, ''],
  ['general', true, 1, '…'],
])('%s, cut in front: %s, to %i', (text, isCutInFront, width, expected) => {
  expect(cut(text, width, isCutInFront)).toBe(expected)
})
