import { beforeEach, describe, expect, test } from 'vitest'
import { Screen } from './live.ts'

let written: string[]
let screen: Screen

beforeEach(() => {
  written = []
  screen = new Screen({ write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream)
})

const taken = () => written.splice(0).join('')

describe('a screen', () => {
  test('is taken and given back once', () => {
    screen.open()
    screen.open()
    expect(taken().split('\u001b[?1049h')).toHaveLength(2)
    screen.close()
    screen.close()
    expect(taken()).toBe('\u001b[?7h\u001b[?25h\u001b[?1049l')
  })

  test('that was never taken is not given back', () => {
    screen.close()
    expect(taken()).toBe('')
  })

  test('writes a frame once', () => {
    screen.open()
    screen.draw(['a', 'b'])
    expect(taken()).toContain('a\u001b[K\u001b[2;1Hb')
    screen.draw(['a', 'b'])
    expect(taken()).toBe('')
  })

  test('is drawn anew after its size changed, and after it was taken again', () => {
    screen.open()
    screen.draw(['a'])
    taken()
    screen.forget()
    screen.draw(['a'])
    expect(taken()).toBe('\u001b[2J\u001b[?2026h\u001b[1;1Ha\u001b[K\u001b[?2026l')
    screen.close()
    screen.open()
    taken()
    screen.draw(['a'])
    expect(taken()).toContain('a')
  })

  test('draws nothing on the screen of the shell', () => {
    screen.draw(['a'])
    screen.forget()
    expect(taken()).toBe('')
  })
})
