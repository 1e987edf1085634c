-- million.sql - psql -v n=1000000: so many conversations of one person, with a question and an answer each.
-- Every text has the word "project", one of 1,000 has the same "topic", one of 50,000 the same "subject".
CREATE TEMP TABLE made AS
SELECT i, 'conv_' || substr(md5(i::text), 1, 16) AS id,
       to_char(to_timestamp(1760000000 + i * 20), 'YYYY-MM-DD"T"HH24:MI:SS.000"Z"') AS at,
       (1760000000 + i * 20)::bigint * 1000 AS at_ms,
       format('project topic%s subject%s: what is left to do before week %s?', i % 1000, i % 50000, i % 52) AS question,
       format('The project topic%s has three open points; the owner of subject%s decides about number %s.', i % 1000, i % 50000, i) AS answer
FROM generate_series(1, :n) i;
INSERT INTO nb_conversation (key, workspace, id, last, created_at, updated_at, owner_id, is_shared, is_sealed, is_hidden, participants, title, preview, summary)
SELECT 1000 + i, :'workspace', id, 2, at, at, :'owner', false, false, false, ARRAY[:'owner'], format('Topic %s', i % 1000), question,
       format('{"updatedAt":"%s","workspaceId":"%s","createdAt":"%s","channel":"web","ownerId":"%s","participants":["%s"],"readers":[],"title":"Topic %s","preview":"%s","lastModel":"demo:demo","lastRun":"complete","messageCount":2,"inputTokens":100,"outputTokens":20,"isCostKnown":true,"past":"{\"people\":[\"%s\"],\"limits\":[],\"tools\":[]}","prices":{"demo:demo":0}}',
              at, :'workspace', at, :'owner', :'owner', i % 1000, question, :'owner')
FROM made;
INSERT INTO nb_event (conversation, seq, line)
SELECT 1000 + i, 0, format('{"id":"%s","createdAt":"%s","format":"events","workspaceId":"%s","ownerId":"%s","visibility":"private","participants":["%s"],"channel":"web"}', id, at, :'workspace', :'owner', :'owner') FROM made
UNION ALL SELECT 1000 + i, 1, format('{"ts":"%s","type":"user.message","content":[{"type":"text","text":"%s"}],"userId":"%s"}', at, question, :'owner') FROM made
UNION ALL SELECT 1000 + i, 2, format('{"ts":"%s","type":"llm.response","runId":"run_0123456789abcdef","model":"demo:demo","content":[{"type":"text","text":"%s"}]}', at, answer) FROM made;
INSERT INTO nb_text (conversation, seq, at_ms, words)
SELECT 1000 + i, 1, at_ms, array_to_tsvector(regexp_split_to_array(lower('user usrdefault ' || regexp_replace(question, '[^a-z0-9 ]', '', 'g')), ' +')) FROM made
UNION ALL SELECT 1000 + i, 2, at_ms + 1, array_to_tsvector(regexp_split_to_array(lower('assistant ' || regexp_replace(answer, '[^A-Za-z0-9 ]', '', 'g')), ' +')) FROM made;
ANALYZE nb_conversation;
ANALYZE nb_event;
ANALYZE nb_text;
