#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks a tool: check.py TOOL [FOLDER] --problems NAME...

Its answers to the inputs of FOLDER (NAME__CASE.input.json) must be those of NAME__CASE.expected.json. On random inputs, its
derivatives must agree with central differences of its values. Messages that are no message must be answered by an error."""
import argparse
import glob
import json
import math
import os
import random
import subprocess
import sys

VALUE = {'lse': 'primal', 'llsq': 'primal', 'ode': 'primal', 'gmm': 'objective', 'lstm': 'objective', 'ht': 'objective',
         'kmeans': 'cost', 'det': 'primal'}
DERIVATIVE = {'primal': 'gradient', 'objective': 'jacobian', 'cost': 'dir'}
TOLERANCE = {'particle': 1e-6, 'saddle': 1e-6}


class Tool:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.id = 0

    def line(self, text):
        self.process.stdin.write(text + '\n')
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ask(self, **message):
        self.id += 1
        answer = self.line(json.dumps({'id': self.id, **message}))
        assert answer['id'] == self.id, answer
        return answer

    def evaluate(self, module, function, value):
        answer = self.ask(kind='evaluate', module=module, function=function, input=value)
        assert answer['success'], (module, function, answer)
        names = [t['name'] for t in answer['timings']]
        assert names[0] == 'prepare' and names[1:] and set(names[1:]) == {'evaluate'}, names
        return answer['output']


def flat(x):
    if isinstance(x, dict):
        return [n for key in sorted(x) for n in flat(x[key])]
    if isinstance(x, list):
        return [n for element in x for n in flat(element)]
    return [float(x)]


def compare(what, found, expected, tolerance):
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), what
        for key in expected:
            compare(f'{what} {key}', found[key], expected[key], tolerance)
        return
    a, b = flat(found), flat(expected)
    assert len(a) == len(b), f'{what}: {len(a)} numbers, not {len(b)}'
    largest = max(map(abs, b), default=0)
    worst = max((abs(x - y) for x, y in zip(a, b)), default=0)
    assert worst <= tolerance * largest, f'{what}: {worst} from the expected values, whose largest is {largest}'


def numbers(*shape):
    return [numbers(*shape[1:]) for _ in range(shape[0])] if shape else random.gauss(0, .7)


def hand(with_us):
    affine = lambda: [row + [random.gauss(0, .3)] for row in numbers(3, 3)] + [[0, 0, 0, 1]]
    model = {'parents': [-1, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 0, 13, 14, 15, 0, 17, 18, 19, 0], 'is_mirrored': True,
             'base_relatives': [affine() for _ in range(22)], 'inverse_base_absolutes': [affine() for _ in range(22)],
             'base_positions': [v + [1] for v in numbers(9, 3)], 'weights': numbers(9, 22),
             'triangles': [[0, 1, 2], [5, 4, 3], [6, 8, 7]]}
    return {'theta': numbers(26), 'us': numbers(4, 2) if with_us else [],
            'data': {'model': model, 'correspondences': [2, 0, 1, 1] if with_us else [8, 0, 3, 3], 'points': numbers(4, 3)}}


def random_input(module):
    """An input, and the names of the members that are differentiated."""
    if module == 'lse':
        return {'x': numbers(7)}, ['x']
    if module == 'llsq':
        return {'x': numbers(19), 'n': 11}, ['x']
    if module == 'ode':
        return {'x': numbers(5), 's': 3}, ['x']
    if module == 'gmm':
        d, k, n = 3, 2, 5
        return {'d': d, 'k': k, 'n': n, 'alpha': numbers(k), 'mu': numbers(k, d), 'q': numbers(k, d), 'l': numbers(k, 3),
                'x': numbers(n, d), 'gamma': 1.3, 'm': 2}, ['alpha', 'l', 'mu', 'q']
    if module == 'lstm':
        return {'main_params': numbers(6, 12), 'extra_params': numbers(3, 3), 'state': numbers(6, 3),
                'sequence': numbers(6, 3)}, ['main_params', 'extra_params']
    if module == 'ht':
        return hand(False), ['theta']
    if module == 'kmeans':
        return {'points': numbers(30, 3), 'centroids': numbers(4, 3)}, ['centroids']
    return {'A': numbers(36), 'ell': 6}, ['A']


def places(x):
    """Lists and positions of all numbers of a list of lists."""
    for k, element in enumerate(x):
        if isinstance(element, list):
            yield from places(element)
        else:
            yield x, k


def differences(tool, module, value, names):
    columns, second = [], []
    function = VALUE[module]
    of = lambda: flat(tool.evaluate(module, function, value))
    last = (lambda y: y[-1:]) if module == 'ode' else (lambda y: y)
    step, middle = 1e-4, of()
    for name in names:
        for row, k in places(value[name]):
            at, samples = row[k], []
            for shift in (-2, -1, 1, 2):
                row[k] = at + shift * step
                samples.append(last(of()))
            row[k] = at
            columns.append([(a - 8 * b + 8 * c - d) / (12 * step) for a, b, c, d in zip(*samples)])
            second.append([(b - 2 * m + c) / step**2 for b, m, c in zip(samples[1], middle, samples[2])])
    if module == 'kmeans':
        return [[g[0] / h[0]] for g, h in zip(columns, second)]
    return [list(row) for row in zip(*columns)]


def check_random(tool, module):
    random.seed(module)
    value, names = random_input(module)
    found = tool.evaluate(module, DERIVATIVE[VALUE[module]], value)
    compare(f'{module}, differences', flat(found), flat(differences(tool, module, value, names)), 1e-6)
    if module == 'ht':
        value = hand(True)
        found = tool.evaluate('ht', 'jacobian', value)
        compare('ht, differences', [row[2:] for row in found], differences(tool, 'ht', value, ['theta']), 1e-6)
        by_us = differences(tool, 'ht', value, ['us']) # rows by all coordinates
        compare('ht, differences in us', [row[:2] for row in found],
                [row[2 * (k // 3):2 * (k // 3) + 2] for k, row in enumerate(by_us)], 1e-6)


def check_protocol(tool, path):
    assert tool.ask(kind='start')['tool'] == 'cotangent'
    assert list(tool.ask(kind='analysis', of=0, valid=True)) == ['id']
    assert not tool.line('{"id": 0, ')['success']
    assert not tool.line('[]')['success']
    for message in ({'kind': 'define', 'module': 'nothing'},
                    {'kind': 'evaluate', 'module': 'nothing', 'function': 'square', 'input': 1},
                    {'kind': 'evaluate', 'module': 'hello', 'function': 'nothing', 'input': 1},
                    {'kind': 'evaluate', 'module': 'hello', 'function': 'square', 'input': 'one'},
                    {'kind': 'evaluate', 'module': 'hello', 'function': 'square'},
                    {'kind': 'evaluate', 'module': 'lse', 'function': 'primal', 'input': {'x': []}},
                    {'kind': 'evaluate', 'module': 'lse', 'function': 'primal', 'input': {'y': [1]}},
                    {'kind': 'evaluate', 'module': 'lse', 'function': 'gradient', 'input': {'x': [[1]]}}):
        answer = tool.ask(**message)
        assert answer['success'] is False and answer['error'], answer
    answer = tool.ask(kind='evaluate', module='lse', function='primal', input={'x': [1, 2], 'min_runs': 7})
    assert [t['name'] for t in answer['timings']] == ['prepare'] + 7 * ['evaluate'], answer
    answer = tool.ask(kind='evaluate', module='lse', function='primal', input={'x': [1, 2], 'min_seconds': 0.001})
    spent = [t['nanoseconds'] for t in answer['timings'][1:]]
    assert len(spent) > 1 and sum(spent) >= 1e6, sum(spent)
    assert math.isclose(answer['output'], math.log(math.exp(1) + math.exp(2)), rel_tol=1e-12)


REFUSED = {'llsq': {'x': [1], 'n': 1}, 'ode': {'x': [1], 's': 0}, 'det': {'A': [1, 2, 3], 'ell': 2},
           'kmeans': {'points': [[1, 2]], 'centroids': [[1]]}, 'lstm': {'main_params': [[1]], 'extra_params': [], 'state': [], 'sequence': []},
           'gmm': {'d': 2, 'k': 1, 'n': 0, 'alpha': [1], 'mu': [[1]], 'q': [[1, 2]], 'l': [[1]], 'x': [], 'gamma': 1, 'm': 0},
           'ba': {'n': 1, 'm': 1, 'p': 0, 'cam': [], 'x': [], 'w': 1, 'feat': []}, 'saddle': {'start': [1]}, 'particle': {}, 'ht': {}}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('tool')
    parser.add_argument('folder', nargs='?')
    parser.add_argument('--problems', nargs='+', required=True)
    arguments = parser.parse_args()
    tool = Tool(arguments.tool)
    check_protocol(tool, arguments.tool)
    for module in arguments.problems:
        assert tool.ask(kind='define', module=module)['success'], module
        if module in VALUE:
            check_random(tool, module)
        if module in REFUSED:
            function = DERIVATIVE[VALUE[module]] if module in VALUE else {'ba': 'jacobian'}.get(module, 'ff')
            answer = tool.ask(kind='evaluate', module=module, function=function, input=REFUSED[module])
            assert answer['success'] is False and answer['error'], answer
        for file in sorted(glob.glob(os.path.join(arguments.folder or '', f'{module}__*.input.json'))) if arguments.folder else []:
            with open(file) as stream:
                value = json.load(stream)
            with open(file.replace('.input.', '.expected.')) as stream:
                expected = json.load(stream)
            for function, output in expected.items():
                rows = function.endswith('_first_rows')
                found = tool.evaluate(module, function.removesuffix('_first_rows'), value)
                compare(f'{file}, {function}', found[:len(output)] if rows else found, output, TOLERANCE.get(module, 1e-9))
            run = subprocess.run([arguments.tool, file, next(iter(expected)).removesuffix('_first_rows')], capture_output=True, text=True)
            assert run.returncode == 0 and '"evaluate"' in run.stdout.splitlines()[2], run
    assert subprocess.run([arguments.tool, 'nothing.json', 'primal'], capture_output=True).returncode == 1


if __name__ == '__main__':
    sys.exit(main())
