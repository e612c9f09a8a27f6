// SPDX-License-Identifier: Apache-2.0
// server.js PORT - answers /words?n=N with N words and the sum of their numbers, as JSON. Ends with
// status 0 on SIGTERM.
'use strict';
const http = require('http');

function words(n) {
    const list = [];
    let sum = 0;
    for (let i = 0; i < n; i++) {
        list.push('drum ' + i);
        sum += i;
    }
    return {words: list, sum};
}

const server = http.createServer((request, response) => {
    const asked = new URL(request.url, 'http://localhost');
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(words(Number(asked.searchParams.get('n')))));
});
server.listen(Number(process.argv[2]), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
